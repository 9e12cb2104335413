#include "view.h"

#include <chrono>
#include <set>
#include <utility>

#include "host_journal.h"
#include "index_cache.h"
#include "protected_paths.h"
#include "view_compilation.h"

namespace cordon::internal {
namespace {

bool IsSame(const CompiledView& a, const CompiledView& b) {
  return a.ops == b.ops && a.landlock_rules == b.landlock_rules && a.absent == b.absent &&
         a.absent_elsewhere == b.absent_elsewhere && a.entries == b.entries && *a.found == *b.found;
}

}  // namespace

struct ViewCompiler::Memory : ViewMemory {
  using ViewMemory::ViewMemory;

  std::chrono::steady_clock::time_point held_until;

  // Whether compiling for the profile's own policy would give `last` again, as it did the last
  // time. What it would make on the host is there then.
  [[nodiscard]] bool StillGives(const CompiledView& last) {
    if (!journal.has_value() || !index.RefreshAgain().ok()) return false;
    const bool has_new_names = index.generation() != generation;
    if (has_new_names) {
      const bool is_known = hidden_links.HasNone() && protected_links.HasNone();
      if (!is_known || index.contents() != *last.found) return false;
    }
    if (!journal->StillHolds(has_new_names) || !MakeMountPoints(mount_points).ok()) return false;
    generation = index.generation();
    return true;
  }

  // After `StillGives`, which began at `at`.
  void NoteChecked(std::chrono::steady_clock::time_point at) {
    checked.at = at;
    if (rechecks == journal->rechecks()) return;
    rechecks = journal->rechecks();
    ++checked.version;
    checked.folders = std::make_shared<const std::set<std::string>>(journal->UnchangedFolders());
  }

  // Those of `names` that are not known to be missing still.
  [[nodiscard]] std::vector<AbsentName> MayExist(const std::vector<AbsentName>& names) const {
    if (!journal.has_value()) return names;
    std::vector<AbsentName> may_exist;
    std::string folder;
    bool is_unchanged = false;
    for (const AbsentName& name : names) {
      // Most are beside each other.
      if (std::string own = ParentPath(name.path); own != folder) {
        is_unchanged = journal->IsUnchanged(own);
        folder = std::move(own);
      }
      if (!is_unchanged || !journal->WasMissing(name.path)) may_exist.push_back(name);
    }
    return may_exist;
  }
};

ViewCompiler::ViewCompiler(Profile profile, ScratchFolders scratch, int landlock_abi, Tier tier,
                           bool mediates)
    : profile_(std::move(profile)),
      scratch_(std::move(scratch)),
      landlock_abi_(landlock_abi),
      tier_(tier),
      mediates_(mediates),
      memory_(std::make_unique<Memory>()) {}

ViewCompiler::~ViewCompiler() = default;

void ViewCompiler::KeepIndex() {
  const std::string& folder = scratch_.index_cache;
  if (folder.empty()) return;
  for (const std::string& path : {folder, JoinPath(folder, kAnyName)}) {
    if (profile_.paths().Resolve(Axis::kWrite, path).access != Access::kDeny) return;
  }
  const std::lock_guard lock(mutex_);
  memory_ = std::make_unique<Memory>(std::make_unique<IndexCache>(folder));
}

absl::StatusOr<std::shared_ptr<const CompiledView>> ViewCompiler::Compile() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const auto held_until = std::exchange(memory_->held_until, {});
  if (last_ != nullptr && now < held_until) return last_;
  if (last_ != nullptr && memory_->StillGives(*last_)) {
    memory_->NoteChecked(now);
    return last_;
  }
  memory_->checked = {memory_->checked.version + 1, now, nullptr};
  memory_->rechecks = 0;
  memory_->journal.emplace();
  {
    const HostJournal::Recording recording(*memory_->journal);
    if (absl::Status status = CompileLocked(profile_.paths()); !status.ok()) {
      memory_->journal.reset();
      return status;
    }
  }
  memory_->generation = memory_->index.generation();
  return last_;
}

absl::StatusOr<std::shared_ptr<const CompiledView>> ViewCompiler::Compile(const PathPolicy& paths) {
  const std::lock_guard lock(mutex_);
  memory_->journal.reset();
  absl::Status status = CompileLocked(paths);
  if (!status.ok()) return status;
  return last_;
}

absl::Status ViewCompiler::CompileLocked(const PathPolicy& paths) {
  ++compilations_;
  absl::StatusOr<CompiledView> view =
      CompileWith(*memory_, profile_, paths, scratch_, tier_, landlock_abi_, mediates_);
  if (!view.ok()) return view.status();
  if (last_ == nullptr || !IsSame(*last_, *view)) {
    last_ = std::make_shared<const CompiledView>(*std::move(view));
  }
  return absl::OkStatus();
}

void ViewCompiler::HoldForNext() {
  const std::lock_guard lock(mutex_);
  if (memory_->journal.has_value()) memory_->held_until = memory_->checked.at + kHolding;
}

CheckedFolders ViewCompiler::checked() const {
  const std::lock_guard lock(mutex_);
  return memory_->checked;
}

std::vector<std::string> ViewCompiler::ChangedProtected(const CompiledView& view) {
  std::unique_lock lock(mutex_);
  const std::vector<AbsentName> may_exist = memory_->MayExist(view.absent);
  lock.unlock();
  std::vector<std::string> changed = UndoCreatedNames(may_exist);
  lock.lock();
  // What cannot be looked at now is looked at before the next command.
  if (!memory_->index.RefreshAgain().ok()) return changed;
  memory_->index.Keep();
  for (std::string& path : ArmedRepositories(*view.found, memory_->index.contents())) {
    changed.push_back(std::move(path));
  }
  return changed;
}

absl::StatusOr<CompiledView> CompileView(const Profile& profile, const PathPolicy& paths,
                                         const ScratchFolders& scratch, int landlock_abi,
                                         Tier tier) {
  ViewMemory memory;
  return CompileWith(memory, profile, paths, scratch, tier, landlock_abi, false);
}

}  // namespace cordon::internal
