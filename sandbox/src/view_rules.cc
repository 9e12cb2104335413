#include "view_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/access.h"
#include "cordon/sdk/profile.h"
#include "glob_filter.h"
#include "host_looks.h"
#include "view_system.h"

namespace cordon::internal {
namespace {

bool Allows(const PathPolicy& paths, Axis axis, const std::string& path) {
  return paths.Resolve(axis, path).access == Access::kAllow;
}

Shown ShownAt(const PathPolicy& paths, const std::string& path) {
  if (!Allows(paths, Axis::kRead, path)) return Shown::kHidden;
  return Allows(paths, Axis::kWrite, path) ? Shown::kWritable : Shown::kReadable;
}

RulePlace PlaceAt(const PathPolicy& paths, const std::string& path, NodeType type) {
  RulePlace place;
  place.path = path;
  place.type = type;
  const std::string probe = type == NodeType::kFolder ? JoinPath(path, kAnyName) : path;
  place.shown = ShownAt(paths, probe);
  place.executable = Allows(paths, Axis::kExecute, probe);
  // A folder that may not be listed, but whose content may be read, cannot be shown like that.
  const bool is_listed = type != NodeType::kFolder || Allows(paths, Axis::kRead, path);
  if (!is_listed) place.shown = Shown::kHidden;
  return place;
}

Wish WishFor(const RulePlace& place) {
  Wish wish;
  wish.type = place.type;
  wish.shown = place.shown;
  wish.executable = place.executable;
  return wish;
}

// All of the host is readable: everything at its top that the view has no own version of.
void AddHostTop(const PathPolicy& paths, ViewBuilder& builder) {
  std::vector<RulePlace> places;
  const int error = ListFolder("/", [&](std::string_view name, NodeType type) {
    const std::string path = JoinPath("/", name);
    if (IsPrivatePlace(paths, path)) return;
    if (type == NodeType::kSymlink) {
      AddLinkedFile(paths, path, builder);
    } else if (type == NodeType::kFolder || type == NodeType::kFile) {
      places.push_back(PlaceAt(paths, path, type));
    }
  });
  if (error != 0) return;
  for (const RulePlace& place : places) builder.Add(place.path, WishFor(place));
}

bool IsExplicit(const RulePlace& place) { return !place.is_system && place.path != "/"; }

// Whether the link is in a folder that is shown anyway, and so comes with it.
bool ComesWithFolder(const RulePlace& link, const std::vector<RulePlace>& places) {
  const RulePlace* nearest = nullptr;
  for (const RulePlace& place : places) {
    if (place.type != NodeType::kFolder || !IsWithin(link.path, place.path)) continue;
    if (nearest == nullptr || place.path.size() > nearest->path.size()) nearest = &place;
  }
  return nearest != nullptr && nearest->shown != Shown::kHidden;
}

// Whether a walk of `root` gets to `path`.
bool IsReached(const std::string& path, const std::string& root,
               const std::vector<std::string>& skip) {
  return IsWithin(path, root) && std::none_of(skip.begin(), skip.end(), [&](const auto& folder) {
           return IsWithin(folder, root) && IsWithin(path, folder);
         });
}

// Leaves out what a walk of another one gets to.
std::vector<std::string> Topmost(const std::set<std::string>& roots,
                                 const std::vector<std::string>& above,
                                 const std::vector<std::string>& skip) {
  std::vector<std::string> kept = above;
  for (const std::string& root : roots) {
    const bool reached = std::any_of(kept.begin(), kept.end(), [&](const std::string& other) {
      return IsReached(root, other, skip);
    });
    if (!reached) kept.push_back(root);
  }
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(above.size()));
  return kept;
}

}  // namespace

bool IsSystemPath(std::string_view path) {
  static const std::vector<std::string_view> kSorted = [] {
    std::vector<std::string_view> sorted(SystemPaths().begin(), SystemPaths().end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }();
  return std::binary_search(kSorted.begin(), kSorted.end(), path);
}

std::vector<RulePlace> FindRulePlaces(const PathPolicy& paths, const std::vector<NodeType>& types) {
  std::vector<RulePlace> places;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const PathRule& rule = paths.rules()[i];
    if (!places.empty() && places.back().path == rule.path) continue;
    RulePlace place = PlaceAt(paths, rule.path, types[i]);
    place.is_system = IsSystemPath(rule.path);
    places.push_back(std::move(place));
  }
  return places;
}

void AddRulePlaces(const PathPolicy& paths, const std::vector<RulePlace>& places,
                   ViewBuilder& builder, std::vector<AbsentName>& absent,
                   std::vector<ReportEntry>& entries) {
  const auto not_shown = [&entries](const std::string& path, std::string_view why) {
    entries.push_back({"view", FeatureStatus::kNarrowed,
                       absl::StrCat(path, " is not shown: ", std::string(why))});
  };
  for (const RulePlace& place : places) {
    if (place.path == "/") {
      if (place.shown != Shown::kHidden) AddHostTop(paths, builder);
    } else if (place.type == NodeType::kMissing) {
      if (place.shown != Shown::kHidden && IsExplicit(place)) {
        not_shown(place.path, "it does not exist");
      }
      if (place.shown != Shown::kWritable) absent.push_back({place.path, place.path});
    } else if (IsReservedPlace(place.path)) {
      if (place.shown != Shown::kHidden) not_shown(place.path, "the sandbox has its own");
    } else if (place.type == NodeType::kSymlink) {
      const bool is_missing = place.shown != Shown::kHidden && !ComesWithFolder(place, places);
      if (is_missing) AddLinkedFile(paths, place.path, builder);
    } else {
      builder.Add(place.path, WishFor(place));
    }
  }
}

IndexRequest IndexRequestFor(const PathPolicy& paths, const std::vector<RulePlace>& places) {
  IndexRequest request;
  std::set<std::string> roots;
  std::set<std::string> optional_roots;
  bool looks_in_writable = false;
  for (const GlobRule& rule : paths.globs()) {
    const bool hides = rule.effect == GlobRule::Effect::kDenyRead;
    request.patterns.push_back({rule.pattern, hides});
    if (rule.effect != GlobRule::Effect::kProtect) request.whole_repositories = true;
    if (!hides) {
      looks_in_writable = true;
      continue;
    }
    const std::string base = GlobBase(rule.pattern);
    if (paths.Resolve(Axis::kRead, base).access == Access::kAllow) roots.insert(base);
    for (const RulePlace& place : places) {
      const bool is_shown_folder = place.type == NodeType::kFolder && place.shown != Shown::kHidden;
      if (is_shown_folder && IsWithin(place.path, base)) roots.insert(place.path);
    }
  }
  for (const RulePlace& place : places) {
    if (place.type != NodeType::kFolder) continue;
    if (place.shown == Shown::kHidden) {
      if (place.path != "/") request.skip.push_back(place.path);
    } else if (place.shown == Shown::kWritable) {
      (looks_in_writable ? roots : optional_roots).insert(place.path);
    } else if (IsExplicit(place)) {
      optional_roots.insert(place.path);
    }
  }
  for (const char* path : {"/dev", "/proc", "/run", "/sys"}) {
    request.skip.emplace_back(path);
  }
  if (IsPrivatePlace(paths, "/tmp")) request.skip.emplace_back("/tmp");
  request.roots = Topmost(roots, {}, request.skip);
  request.optional_roots = Topmost(optional_roots, request.roots, request.skip);
  return request;
}

int PinnedLevels(const GlobRule& rule, const std::vector<RulePlace>& places) {
  if (rule.effect != GlobRule::Effect::kDenyRead) return Wish::kPinAll;
  constexpr std::string_view kAnyDepth = "/**/";
  const std::size_t at = rule.pattern.find(kAnyDepth);
  if (at == std::string::npos) return Wish::kPinAll;
  const std::string base = GlobBase(rule.pattern);
  const std::string_view rest = std::string_view(rule.pattern).substr(at + kAnyDepth.size());
  if (base.size() != at || rest.find("**") != std::string_view::npos) return Wish::kPinAll;
  // Out of the folder that the pattern speaks of, a match would be none any more.
  for (const RulePlace& place : places) {
    if (place.shown == Shown::kWritable && place.path != base && IsWithin(base, place.path)) {
      return Wish::kPinAll;
    }
  }
  return static_cast<int>(std::count(rest.begin(), rest.end(), '/'));
}

}  // namespace cordon::internal
