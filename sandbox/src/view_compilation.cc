#include "view_compilation.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hard_links.h"
#include "host_looks.h"
#include "host_places.h"
#include "host_rules.h"
#include "landlock_report.h"
#include "listed_sockets.h"
#include "place_memory.h"
#include "protected_paths.h"
#include "published_names.h"
#include "resolver_files.h"
#include "unix_socket_table.h"
#include "view_builder.h"
#include "view_landlock.h"
#include "view_report.h"
#include "view_rules.h"
#include "view_system.h"
#include "workspace_index.h"
#include "writable_places.h"

namespace cordon::internal {
namespace {

// One compilation: each step adds what it finds to the builder, the last one emits.
class Compilation {
 public:
  Compilation(const Profile& profile, const PathPolicy& paths, const ScratchFolders& scratch,
              ViewMemory& memory)
      : profile_(profile), given_(paths), scratch_(scratch), memory_(memory) {}

  absl::StatusOr<CompiledView> Run(Tier tier, int landlock_abi, bool mediates);

 private:
  absl::Status Collect(Tier tier);
  absl::StatusOr<CompiledView> FinishView(int landlock_abi);
  absl::StatusOr<CompiledView> FinishOnHost(int landlock_abi, bool mediates);
  void OpenLinkedWorktree();
  void AddSystem();
  absl::Status LookBelowRoots();
  void AddMatches();
  void AddProtected();
  void AddUnseen();
  void AddForbiddenElsewhere();
  void AddListedSockets();
  void DescribeListedSockets();
  void AddSockets();
  void AddOtherNames();
  [[nodiscard]] bool IsSurroundedByMore(const RulePlace& place) const;
  void HideScratch();
  void Say(std::vector<ReportEntry> entries);
  void Describe(std::string_view feature, FeatureStatus status, std::string detail);
  [[nodiscard]] const PathPolicy& paths() const {
    return widened_.has_value() ? *widened_ : given_;
  }

  const Profile& profile_;
  const PathPolicy& given_;
  std::optional<PathPolicy> widened_;  // By what a linked worktree needs.
  const ScratchFolders& scratch_;
  ViewMemory& memory_;
  std::optional<LinkedWorktree> linked_;
  std::vector<RulePlace> places_;
  std::set<std::string> listed_sockets_;
  std::vector<std::string> hidden_;     // Files and folders whose other names are
  std::vector<std::string> protected_;  // to be treated alike.
  ViewBuilder builder_;
  CompiledView view_;
};

absl::StatusOr<CompiledView> Compilation::Run(Tier tier, int landlock_abi, bool mediates) {
  if (absl::Status status = Collect(tier); !status.ok()) return status;
  return tier == Tier::kLandlock ? FinishOnHost(landlock_abi, mediates) : FinishView(landlock_abi);
}

absl::Status Compilation::Collect(Tier tier) {
  OpenLinkedWorktree();
  places_ = memory_.places.Find(paths());
  if (tier == Tier::kLandlock) {
    AddHostPlaces(paths(), scratch_, builder_);
  } else {
    AddSystem();
  }
  AddRulePlaces(paths(), places_, builder_, view_.absent, view_.entries);
  if (absl::Status status = LookBelowRoots(); !status.ok()) return status;
  AddMatches();
  AddProtected();
  AddUnseen();
  if (tier == Tier::kLandlock) {
    // No socket can be covered there: see UnixMediator.
    DescribeListedSockets();
  } else {
    AddSockets();
  }
  AddOtherNames();
  HideScratch();
  AddForbiddenElsewhere();
  return absl::OkStatus();
}

// What another program's command has planted is there by now, and seems to be the user's. That it
// is gone again shows in the journal, and until then it is not the user's.
void Compilation::AddForbiddenElsewhere() {
  if (scratch_.all.empty()) return;
  const HostJournal::Unnoted unnoted;
  const std::set<std::string> names = PublishedNames::OfOthers(scratch_.all);
  view_.absent_elsewhere.assign(names.begin(), names.end());
}

absl::StatusOr<CompiledView> Compilation::FinishView(int landlock_abi) {
  view_.ops = builder_.Build();
  absl::Status status;
  if (!scratch_.resolver.empty()) status = ShowResolverFiles(scratch_.resolver, view_.ops);
  if (!status.ok()) return status;
  memory_.mount_points = builder_.scratch_mount_points();
  status = MakeMountPoints(memory_.mount_points);
  if (!status.ok()) return status;
  std::erase_if(view_.absent,
                [this](const AbsentName& name) { return !builder_.IsWritable(name.path); });
  view_.landlock_handled_fs = LandlockFileRights(landlock_abi);
  view_.landlock_scoped = LandlockScopes(landlock_abi);
  view_.landlock_rules = ViewLandlockRules(landlock_abi, builder_.writable_roots());
  Say(ViewFileEntries(view_.landlock_handled_fs != 0, listed_sockets_));
  Say(RuleEntries(paths(), *view_.found, view_.absent.size()));
  return std::move(view_);
}

absl::StatusOr<CompiledView> Compilation::FinishOnHost(int landlock_abi, bool mediates) {
  const Wishes wishes = HostWishes(builder_);
  absl::StatusOr<HostRules> compiled = CompileHostRules(wishes, landlock_abi);
  if (!compiled.ok()) return compiled.status();
  std::erase_if(view_.absent,
                [&wishes](const AbsentName& name) { return !IsWritableOnHost(wishes, name.path); });
  view_.landlock_handled_fs = LandlockFileRights(landlock_abi);
  view_.landlock_scoped = LandlockScopes(landlock_abi);
  Say(HostFileEntries(*compiled, mediates));
  std::vector<std::string> absent;
  for (const AbsentName& name : view_.absent) absent.push_back(name.path);
  view_.writable = std::make_shared<const WritablePlaces>(paths(), wishes, scratch_.Private(),
                                                          std::move(absent), *compiled);
  view_.landlock_rules = std::move(compiled->rules);
  Say(RuleEntries(paths(), *view_.found, view_.absent.size()));
  return std::move(view_);
}

void Compilation::OpenLinkedWorktree() {
  const ProfileConfig& settings = profile_.Settings();
  if (settings.workspace_read != Access::kAllow) return;
  linked_ = FindLinkedWorktree(settings.workspace_root);
  if (!linked_.has_value()) return;
  for (const AdditionalRoot& root : settings.additional_roots) {
    // What the profile denies by name is not opened by the way.
    if (root.read != Access::kAllow && IsWithin(linked_->common, root.path)) {
      Describe("linked_worktree", FeatureStatus::kNarrowed,
               absl::StrCat("the repository in ", linked_->common, " is denied by ", root.path));
      linked_.reset();
      return;
    }
  }
  widened_ = given_.With(LinkedWorktreeRules(*linked_, settings.workspace_write == Access::kAllow));
}

void Compilation::AddSystem() {
  AddPrivatePlaces(profile_, paths(), scratch_, builder_);
  if (paths().Resolve(Axis::kRead, "/etc").access == Access::kAllow) {
    AddTargetsInRun(paths(), builder_);
  }
  AddSshConfiguration(paths(), builder_);
}

absl::Status Compilation::LookBelowRoots() {
  const HostJournal::Unnoted unnoted;  // It knows itself what has changed.
  absl::Status status = memory_.index.Refresh(IndexRequestFor(paths(), places_));
  if (status.ok()) view_.found = std::make_shared<const IndexContents>(memory_.index.contents());
  return status;
}

void Compilation::AddMatches() {
  std::vector<int> levels;
  for (const GlobRule& rule : paths().globs()) levels.push_back(PinnedLevels(rule, places_));
  for (const IndexMatch& match : view_.found->matches) {
    const GlobRule::Effect effect = paths().globs()[match.pattern].effect;
    if (effect == GlobRule::Effect::kProtect) continue;  // See AddProtected.
    const bool hides = effect == GlobRule::Effect::kDenyRead;
    Wish wish;
    wish.type = match.type;
    wish.shown = hides ? Shown::kHidden : Shown::kReadable;
    wish.pinned_levels = levels[match.pattern];
    wish.may_vanish = true;
    builder_.Add(match.path, wish);
    (hides ? hidden_ : protected_).push_back(match.path);
  }
  for (const RulePlace& place : places_) {
    // Only what lies in a place that is shown is looked at, not e.g. all of a hidden home.
    const bool is_carved_out = IsSurroundedByMore(place);
    if (is_carved_out) (place.shown == Shown::kHidden ? hidden_ : protected_).push_back(place.path);
  }
}

void Compilation::AddProtected() {
  ProtectedPaths found =
      FindProtectedPaths(paths(), *view_.found, linked_, profile_.Settings().home_root);
  for (const ProtectedPaths::Existing& existing : found.existing) {
    Wish wish;
    wish.type = existing.type;
    wish.shown = Shown::kReadable;
    builder_.Add(existing.path, wish);
    protected_.push_back(existing.path);
  }
  for (const std::string& path : found.pinned) builder_.AddPin(path);
  view_.absent.insert(view_.absent.end(), std::make_move_iterator(found.absent.begin()),
                      std::make_move_iterator(found.absent.end()));
}

// Where nobody could look, a rule that might apply is taken to apply.
void Compilation::AddUnseen() {
  for (const std::string& mount : view_.found->mounts) builder_.AddMountPoint(mount);
  std::vector<std::string> unseen = view_.found->unlisted;
  unseen.insert(unseen.end(), view_.found->foreign_mounts.begin(),
                view_.found->foreign_mounts.end());
  if (unseen.empty() || paths().globs().empty()) return;
  const bool may_hide =
      std::any_of(paths().globs().begin(), paths().globs().end(),
                  [](const GlobRule& rule) { return rule.effect == GlobRule::Effect::kDenyRead; });
  for (const std::string& path : unseen) {
    Wish wish;
    wish.shown = may_hide ? Shown::kHidden : Shown::kReadable;
    builder_.Add(path, wish);
    Describe("filesystem.globs", FeatureStatus::kNarrowed,
             absl::StrCat(path, may_hide ? " is hidden: " : " is read-only: ",
                          "it could not be searched for what the rules name"));
  }
}

void Compilation::AddListedSockets() {
  for (const std::string& path : profile_.Settings().unix_sockets) {
    const ListedSocket listed = FindListedSocket(paths(), path);
    if (listed.socket.empty()) {
      Describe("unix_sockets", FeatureStatus::kNarrowed, listed.problem);
      continue;
    }
    listed_sockets_.insert(listed.socket);
    Wish wish;
    wish.type = NodeType::kSocket;
    wish.shown = Shown::kReadable;
    wish.executable = false;
    wish.may_vanish = true;
    builder_.Add(listed.socket, wish);
    // Where no link of the host's is shown. /var/run is the link that it is everywhere.
    const bool leads_there = listed.path == listed.socket || IsWithin(listed.path, "/var/run") ||
                             paths().Resolve(Axis::kRead, listed.path).access == Access::kAllow;
    if (leads_there || IsReservedPlace(listed.path)) continue;
    wish.source = listed.socket;
    builder_.Add(listed.path, wish);
  }
}

void Compilation::DescribeListedSockets() {
  for (const std::string& path : profile_.Settings().unix_sockets) {
    const ListedSocket listed = FindListedSocket(paths(), path, /*has_view=*/false);
    if (!listed.problem.empty()) {
      Describe("unix_sockets", FeatureStatus::kNarrowed, listed.problem);
    }
  }
}

// A socket stays connectable through a read-only mount. One that was left behind in a writable
// folder is not covered, or a server that is started anew could not make its own.
void Compilation::AddSockets() {
  AddListedSockets();
  const UnixSocketTable bound = UnixSocketTable::OfThisHost();
  std::set<std::string> sockets(view_.found->sockets.begin(), view_.found->sockets.end());
  for (const std::string& path : bound.paths()) {
    // Those in places that were not walked.
    const absl::StatusOr<std::string> resolved = ResolveLinks(path);
    if (resolved.ok() && TypeAt(*resolved) == NodeType::kSocket) sockets.insert(*resolved);
  }
  for (const std::string& path : sockets) {
    if (listed_sockets_.contains(path)) continue;
    const bool writable = paths().Resolve(Axis::kWrite, path).access == Access::kAllow;
    if (writable && !bound.MayBeBound(path)) continue;
    Wish wish;
    wish.type = NodeType::kSocket;
    wish.pinned_levels = 0;
    wish.may_vanish = true;
    builder_.Add(path, wish);
  }
}

// A file that is denied has no other name under which it is not.
void Compilation::AddOtherNames() {
  const auto add = [this](const HardLinks::Found& found, Shown shown) {
    for (const std::string& path : found.names) {
      Wish wish;
      wish.type = NodeType::kFile;
      wish.shown = shown;
      wish.pinned_levels = shown == Shown::kHidden ? 0 : Wish::kPinAll;
      wish.may_vanish = true;
      builder_.Add(path, wish);
    }
    if (!found.complete) {
      Describe("filesystem.globs", FeatureStatus::kNarrowed,
               "there is too much in denied or protected folders to look for other names of all "
               "files in them");
    }
  };
  add(memory_.hidden_links.Find(memory_.index, std::move(hidden_)), Shown::kHidden);
  add(memory_.protected_links.Find(memory_.index, std::move(protected_)), Shown::kReadable);
}

// Whether the folder around a place shows, or lets change, more than the place itself.
bool Compilation::IsSurroundedByMore(const RulePlace& place) const {
  if (place.path == "/" || place.is_system || place.type == NodeType::kMissing) return false;
  const std::string beside = JoinPath(ParentPath(place.path), kAnyName);
  switch (place.shown) {
    case Shown::kHidden:
      return paths().Resolve(Axis::kRead, beside).access == Access::kAllow;
    case Shown::kReadable:
      return paths().Resolve(Axis::kWrite, beside).access == Access::kAllow;
    case Shown::kWritable:
      break;
  }
  return false;
}

void Compilation::HideScratch() {
  const auto hide = [this](const std::string& folder) {
    if (folder.empty() || paths().Resolve(Axis::kRead, folder).access != Access::kAllow) return;
    builder_.Add(folder, Wish{});
  };
  hide(scratch_.all);
  if (TypeAt(scratch_.index_cache) == NodeType::kFolder) hide(scratch_.index_cache);
}

void Compilation::Say(std::vector<ReportEntry> entries) {
  view_.entries.insert(view_.entries.end(), std::make_move_iterator(entries.begin()),
                       std::make_move_iterator(entries.end()));
}

void Compilation::Describe(std::string_view feature, FeatureStatus status, std::string detail) {
  view_.entries.push_back({std::string(feature), status, std::move(detail)});
}

}  // namespace

absl::Status MakeMountPoints(const std::vector<ViewBuilder::MountPoint>& points) {
  for (const ViewBuilder::MountPoint& point : points) {
    absl::Status status = MakeScratchMountPoint(point.scratch, point.relative, point.is_folder);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<CompiledView> CompileWith(ViewMemory& memory, const Profile& profile,
                                         const PathPolicy& paths, const ScratchFolders& scratch,
                                         Tier tier, int landlock_abi, bool mediates) {
  return Compilation(profile, paths, scratch, memory).Run(tier, landlock_abi, mediates);
}

}  // namespace cordon::internal
