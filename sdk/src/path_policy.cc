#include "cordon/sdk/path_policy.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cordon/sdk/status.h"
#include "glob.h"

namespace cordon {

using internal::Glob;

std::string_view AxisName(Axis axis) {
  switch (axis) {
    case Axis::kRead:
      return "read";
    case Axis::kExecute:
      return "execute";
    case Axis::kWrite:
      return "write";
  }
  return "unknown";
}

// The globs of a policy, sorted by the literal path that each starts with: only those that start
// at a path or above it have to be tried for it.
struct PathPolicy::Compiled {
  struct Entry {
    Glob glob;
    GlobRule rule;
  };
  std::vector<Entry> entries;
  bool denies_read = false;
  bool denies_write = false;  // Also where it denies reading.

  // Whether there is one that denies something on `axis`.
  [[nodiscard]] bool DenyOn(Axis axis) const {
    return axis == Axis::kWrite ? denies_write : denies_read;
  }

  // Calls `visit` with the entries that may match `path` until it says true; the entry, or null.
  template <typename Visit>
  const Entry* Find(std::string_view path, Visit visit) const;
};

namespace {

using Rules = std::vector<PathRule>;

constexpr std::string_view kNoRule = "no rule allows it";

struct LiteralMatch {
  Access access = Access::kDeny;
  const PathRule* rule = nullptr;  // Null when no rule decides the axis.
};

const std::optional<Access>& On(Axis axis, const PathRule& rule) {
  switch (axis) {
    case Axis::kRead:
      return rule.read;
    case Axis::kExecute:
      return rule.execute;
    case Axis::kWrite:
      break;
  }
  return rule.write;
}

bool Sooner(const PathRule& a, const PathRule& b) {
  return std::tuple(std::string_view(a.path), a.shape == PathShape::kTree) <
         std::tuple(std::string_view(b.path), b.shape == PathShape::kTree);
}

Rules::const_iterator FirstAt(const Rules& rules, std::string_view path) {
  return std::lower_bound(
      rules.begin(), rules.end(), path,
      [](const PathRule& rule, std::string_view wanted) { return rule.path < wanted; });
}

// Of those of one shape at one path the narrowest decides.
void Consider(const PathRule& rule, const std::optional<Access>& access, LiteralMatch& match) {
  if (!access.has_value()) return;
  if (match.rule == nullptr || *access < match.access) match = {*access, &rule};
}

// The narrowest of the rules of each shape at exactly `path`.
struct MatchesAt {
  MatchesAt(const Rules& rules, Axis axis, std::string_view path) {
    for (auto rule = FirstAt(rules, path); rule != rules.end() && rule->path == path; ++rule) {
      Consider(*rule, On(axis, *rule), rule->shape == PathShape::kExact ? exact : tree);
    }
  }
  LiteralMatch exact;
  LiteralMatch tree;
};

std::string_view Parent(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

// The tree rule that decides for what is in the folder `path`.
LiteralMatch ResolveContent(const Rules& rules, Axis axis, std::string_view path) {
  for (;; path = Parent(path)) {
    const LiteralMatch match = MatchesAt(rules, axis, path).tree;
    if (match.rule != nullptr || path.size() == 1) return match;
  }
}

LiteralMatch ResolveLiteral(const Rules& rules, Axis axis, std::string_view path) {
  const MatchesAt here(rules, axis, path);
  if (here.exact.rule != nullptr) return here.exact;
  if (here.tree.rule != nullptr || path.size() == 1) return here.tree;
  return ResolveContent(rules, axis, Parent(path));
}

PathDecision Decided(const LiteralMatch& match) {
  if (match.rule == nullptr) return {Access::kDeny, "", std::string(kNoRule)};
  return {match.access, match.rule->path, match.rule->origin};
}

PathDecision DecidedBy(const GlobRule& glob) { return {Access::kDeny, glob.pattern, glob.origin}; }

bool Denies(GlobRule::Effect effect, Axis axis) {
  switch (effect) {
    case GlobRule::Effect::kDenyRead:
      return true;  // What cannot be read cannot be written or executed either.
    case GlobRule::Effect::kDenyWrite:
      return axis == Axis::kWrite;
    case GlobRule::Effect::kProtect:
      break;
  }
  return false;
}

// `path` itself when it is normal already, else its normal form in `storage`.
std::string_view Normal(std::string_view path, std::string& storage) {
  const bool is_normal = path.find("//") == std::string_view::npos &&
                         path.find("/.") == std::string_view::npos &&
                         (path.size() == 1 || path.back() != '/');
  if (is_normal) return path;
  storage = NormalizePath(path);
  return storage;
}

// The granted rule, a tree or an exact path, opens what waits for a grant.
void Open(const PathRule& granted, PathRule& rule) {
  const bool covered = granted.shape == PathShape::kTree
                           ? IsWithin(rule.path, granted.path)
                           : rule.shape == PathShape::kExact && rule.path == granted.path;
  if (!covered) return;
  const auto open = [](const std::optional<Access>& grant, std::optional<Access>& access) {
    if (access == Access::kGated && grant.has_value()) access = Max(*access, *grant);
  };
  open(granted.read, rule.read);
  open(granted.execute, rule.execute);
  open(granted.write, rule.write);
}

bool StartsBefore(const Glob& glob, std::string_view path) { return glob.literal_prefix() < path; }

// The decision of a policy whose globs have been looked at: literal rules, then rule 3 by way of
// `protector`, which names the glob that protects against the given winner, then rule 4.
template <typename Resolve, typename Protector>
PathDecision Combine(Axis axis, Resolve resolve, Protector protector) {
  const LiteralMatch match = resolve(axis);
  if (axis == Axis::kRead) return Decided(match);
  if (axis == Axis::kWrite && match.access != Access::kDeny) {
    if (const GlobRule* glob = protector(*match.rule)) return DecidedBy(*glob);
  }
  const LiteralMatch read = resolve(Axis::kRead);
  return Decided(read.access < match.access ? read : match);
}

}  // namespace

template <typename Visit>
const PathPolicy::Compiled::Entry* PathPolicy::Compiled::Find(std::string_view path,
                                                              Visit visit) const {
  if (entries.empty()) return nullptr;
  for (std::string_view start = path;; start = Parent(start)) {
    auto entry = std::lower_bound(
        entries.begin(), entries.end(), start,
        [](const Entry& e, std::string_view wanted) { return StartsBefore(e.glob, wanted); });
    for (; entry != entries.end() && entry->glob.literal_prefix() == start; ++entry) {
      if (visit(*entry)) return &*entry;
    }
    if (start.size() == 1) return nullptr;
  }
}

PathPolicy::PathPolicy(std::vector<PathRule> rules, std::vector<GlobRule> globs)
    : rules_(std::move(rules)), globs_(std::move(globs)) {
  std::erase_if(rules_, [](const PathRule& r) { return r.path.empty() || r.path[0] != '/'; });
  for (PathRule& rule : rules_) rule.path = NormalizePath(rule.path);
  std::stable_sort(rules_.begin(), rules_.end(), Sooner);
  auto compiled = std::make_shared<Compiled>();
  compiled->entries.reserve(globs_.size());
  for (const GlobRule& rule : globs_) {
    absl::StatusOr<Glob> glob = Glob::Compile(rule.pattern);
    compiled->entries.push_back({glob.ok() ? *std::move(glob) : Glob::Everything(), rule});
    compiled->denies_read = compiled->denies_read || Denies(rule.effect, Axis::kRead);
    compiled->denies_write = compiled->denies_write || Denies(rule.effect, Axis::kWrite);
  }
  std::stable_sort(compiled->entries.begin(), compiled->entries.end(),
                   [](const Compiled::Entry& a, const Compiled::Entry& b) {
                     return StartsBefore(a.glob, b.glob.literal_prefix());
                   });
  compiled_ = std::move(compiled);
}

const GlobRule* PathPolicy::DenyingGlob(Axis axis, std::string_view path) const {
  if (compiled_ == nullptr || !compiled_->DenyOn(axis)) return nullptr;
  const Compiled::Entry* entry = compiled_->Find(path, [&](const Compiled::Entry& e) {
    return Denies(e.rule.effect, axis) && e.glob.DeepestMatch(path).has_value();
  });
  return entry != nullptr ? &entry->rule : nullptr;
}

const GlobRule* PathPolicy::ProtectingGlob(std::string_view path, std::string_view winner) const {
  if (compiled_ == nullptr) return nullptr;
  const Compiled::Entry* entry = compiled_->Find(path, [&](const Compiled::Entry& e) {
    if (e.rule.effect != GlobRule::Effect::kProtect) return false;
    const std::optional<std::size_t> match = e.glob.DeepestMatch(path);
    return match.has_value() && !IsWithin(winner, path.substr(0, *match));
  });
  return entry != nullptr ? &entry->rule : nullptr;
}

PathDecision PathPolicy::Resolve(Axis axis, std::string_view path) const {
  if (path.empty() || path[0] != '/') return Decided({});
  std::string storage;
  path = Normal(path, storage);
  if (const GlobRule* glob = DenyingGlob(axis, path)) return DecidedBy(*glob);
  return Combine(
      axis, [&](Axis wanted) { return ResolveLiteral(rules_, wanted, path); },
      [&](const PathRule& winner) { return ProtectingGlob(path, winner.path); });
}

PathDecision PathPolicy::ResolveTree(Axis axis, std::string_view root) const {
  if (root.empty() || root[0] != '/') return Decided({});
  std::string storage;
  root = Normal(root, storage);
  PathDecision narrowest = Resolve(axis, root);
  const auto consider = [&](PathDecision decision) {
    if (decision.access < narrowest.access) narrowest = std::move(decision);
  };
  const auto unprotected = [](const PathRule&) -> const GlobRule* { return nullptr; };
  consider(Combine(
      axis, [&](Axis wanted) { return ResolveContent(rules_, wanted, root); }, unprotected));
  if (compiled_ != nullptr) {
    for (const Compiled::Entry& entry : compiled_->entries) {
      if (!Denies(entry.rule.effect, axis) || !entry.glob.CouldMatchWithin(root)) continue;
      consider(DecidedBy(entry.rule));
      break;
    }
  }
  const std::string below = root.size() == 1 ? "/" : std::string(root) + "/";
  for (auto rule = FirstAt(rules_, below);
       rule != rules_.end() && rule->path.starts_with(below) && narrowest.access != Access::kDeny;
       ++rule) {
    const std::string_view path = rule->path;
    consider(Resolve(axis, path));
    consider(Combine(
        axis, [&](Axis wanted) { return ResolveContent(rules_, wanted, path); }, unprotected));
  }
  return narrowest;
}

PathPolicy PathPolicy::With(std::vector<PathRule> more) const {
  PathPolicy policy = *this;
  for (PathRule& granted : more) {
    if (granted.path.empty() || granted.path[0] != '/') continue;
    granted.path = NormalizePath(granted.path);
    for (PathRule& rule : policy.rules_) Open(granted, rule);
  }
  for (PathRule& granted : more) {
    if (!granted.path.empty() && granted.path[0] == '/') {
      policy.rules_.push_back(std::move(granted));
    }
  }
  std::stable_sort(policy.rules_.begin(), policy.rules_.end(), Sooner);
  return policy;
}

bool GlobMatches(std::string_view pattern, std::string_view path) {
  const absl::StatusOr<Glob> glob = Glob::Compile(pattern);
  return glob.ok() && glob->Matches(path);
}

bool GlobCovers(std::string_view pattern, std::string_view path) {
  const absl::StatusOr<Glob> glob = Glob::Compile(pattern);
  return glob.ok() && glob->DeepestMatch(path).has_value();
}

bool IsGlob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

absl::Status ValidateGlob(std::string_view pattern) { return Glob::Compile(pattern).status(); }

std::string NormalizePath(std::string_view absolute_path) {
  std::string normal;
  for (std::size_t at = 0; at < absolute_path.size();) {
    if (absolute_path[at] == '/') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(absolute_path.find('/', at), absolute_path.size());
    const std::string_view name = absolute_path.substr(at, end - at);
    at = end;
    if (name == ".") continue;
    if (name == "..") {
      normal.resize(normal.empty() ? 0 : normal.rfind('/'));
      continue;
    }
    normal.append("/").append(name);
  }
  return normal.empty() ? "/" : normal;
}

bool IsWithin(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace cordon
