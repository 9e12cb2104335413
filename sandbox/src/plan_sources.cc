#include "plan_sources.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <string_view>

#include "cordon/sdk/path_policy.h"

namespace cordon::internal {
namespace {

// From when a command is prepared until it is started, unless somebody lets it wait.
constexpr std::chrono::milliseconds kJustNow{5};

// What is at `target` in the view, as a path of the host; empty when it is the view's own.
std::string HostPathOf(std::string_view target, const std::vector<ViewOp>& before) {
  const ViewOp* around = nullptr;
  for (const ViewOp& op : before) {
    const bool has_content = op.kind == ViewOp::Kind::kBind || op.kind == ViewOp::Kind::kTmpfs ||
                             op.kind == ViewOp::Kind::kProc || op.kind == ViewOp::Kind::kDev;
    if (!has_content || !IsWithin(target, op.target)) continue;
    if (around == nullptr || around->target.size() <= op.target.size()) around = &op;
  }
  if (around == nullptr || around->kind != ViewOp::Kind::kBind) return {};
  const std::string_view below = target.substr(around->target == "/" ? 0 : around->target.size());
  return below.empty() || below == "/" ? around->source : around->source + std::string(below);
}

}  // namespace

PlanSources::PlanSources(SandboxPlan& plan)
    : mounts_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {
  if (plan.namespaces) {
    NoteView(plan.view);
  } else {
    NoteRules(plan.landlock_rules);
  }
}

void PlanSources::NoteRules(std::vector<LandlockRule>& rules) {
  for (LandlockRule& rule : rules) {
    const ObjectIdentity identity = Note(rule.path);
    rule.device = identity.device;
    rule.inode = identity.inode;
  }
}

void PlanSources::NoteView(std::vector<ViewOp>& ops) {
  std::vector<ViewOp> before;
  for (ViewOp& op : ops) {
    std::string path;
    switch (op.kind) {
      case ViewOp::Kind::kBind:
      case ViewOp::Kind::kSocket:
        path = op.source;
        break;
      case ViewOp::Kind::kProtect:
      case ViewOp::Kind::kMask:
      case ViewOp::Kind::kPin:
        path = HostPathOf(op.target, before);
        break;
      case ViewOp::Kind::kDir:
      case ViewOp::Kind::kFile:
      case ViewOp::Kind::kSymlink:
      case ViewOp::Kind::kTmpfs:
      case ViewOp::Kind::kProc:
      case ViewOp::Kind::kDev:
        break;
    }
    if (op.kind == ViewOp::Kind::kBind || op.kind == ViewOp::Kind::kTmpfs ||
        op.kind == ViewOp::Kind::kProc || op.kind == ViewOp::Kind::kDev) {
      before.push_back(op);
    }
    if (path.empty()) continue;
    const ObjectIdentity identity = Note(path);
    op.device = identity.device;
    op.inode = identity.inode;
  }
}

ObjectIdentity PlanSources::Note(const std::string& path) {
  const std::string parent = ParentPath(path);
  const auto [found, is_new] = folders_.try_emplace(parent);
  Folder& folder = found->second;
  if (is_new) {
    // Before its objects, so that what changes in between shows.
    const std::int64_t now = FileClockNanoseconds();
    folder.stamp = StatusOf(parent).stamp;
    folder.may_change_unnoticed = MayChangeUnnoticed(folder.stamp, now);
  }
  folder.objects.push_back({path, IdentityAt(path)});
  return folder.objects.back().identity;
}

bool PlanSources::StillHold(const CheckedFolders& checked) {
  const bool is_recent =
      checked.folders != nullptr && std::chrono::steady_clock::now() - checked.at < kJustNow;
  const auto holds = [&](auto& entry) {
    auto& [path, folder] = entry;
    const bool is_checked = is_recent && checked.folders->contains(path);
    if (is_checked && folder.version == checked.version) return true;
    folder.version = is_checked ? checked.version : 0;
    return FolderHolds(path, folder);
  };
  hold_ = hold_ && !MountsChanged() && std::all_of(folders_.begin(), folders_.end(), holds);
  return hold_;
}

bool PlanSources::FolderHolds(const std::string& path, Folder& folder) const {
  const std::int64_t now = FileClockNanoseconds();
  const DirectoryStamp stamp = StatusOf(path).stamp;
  if (stamp == folder.stamp && !folder.may_change_unnoticed) return true;
  for (const Object& object : folder.objects) {
    if (IdentityAt(object.path) != object.identity) return false;
  }
  folder.stamp = stamp;
  folder.may_change_unnoticed = MayChangeUnnoticed(stamp, now);
  return true;
}

bool PlanSources::MountsChanged() const {
  pollfd entry = {mounts_.get(), POLLPRI, 0};
  return !mounts_.valid() || poll(&entry, 1, 0) != 0;
}

}  // namespace cordon::internal
