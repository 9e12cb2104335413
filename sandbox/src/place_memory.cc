#include "place_memory.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "host_looks.h"

namespace cordon::internal {
namespace {

bool SameRules(const std::vector<PathRule>& a, const std::vector<PathRule>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PathRule& x, const PathRule& y) {
                      return x.path == y.path && x.shape == y.shape && x.read == y.read &&
                             x.execute == y.execute && x.write == y.write;
                    });
}

bool SameGlobs(const std::vector<GlobRule>& a, const std::vector<GlobRule>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const GlobRule& x, const GlobRule& y) {
                      return x.pattern == y.pattern && x.effect == y.effect;
                    });
}

}  // namespace

const std::vector<RulePlace>& PlaceMemory::Find(const PathPolicy& paths) {
  BeginChecks();
  std::vector<NodeType> types;
  types.reserve(paths.rules().size());
  for (const PathRule& rule : paths.rules()) types.push_back(Remembered(rule.path));
  const bool is_same =
      types == types_ && SameRules(paths.rules(), rules_) && SameGlobs(paths.globs(), globs_);
  if (is_same) return places_;
  places_ = FindRulePlaces(paths, types);
  types_ = std::move(types);
  rules_ = paths.rules();
  globs_ = paths.globs();
  return places_;
}

NodeType PlaceMemory::Remembered(const std::string& path) {
  const NodeType type = TypeOf(path);
  NoteType(path, type);
  return type;
}

NodeType PlaceMemory::TypeOf(const std::string& path) {
  const HostJournal::Unnoted unnoted;
  if (!IsSystemPath(path)) return StatusOf(path).type;
  Folder& folder = CheckedFolder(ParentPath(path));
  if (folder.may_change_unnoticed) return StatusOf(path).type;
  const auto [known, is_new] = folder.types.try_emplace(path);
  if (is_new) known->second = StatusOf(path).type;
  return known->second;
}

PlaceMemory::Folder& PlaceMemory::CheckedFolder(const std::string& path) {
  Folder& folder = folders_[path];
  if (folder.is_checked) return folder;
  folder.is_checked = true;
  // Before anything in it is looked at, so that what changes in between shows the next time.
  const std::int64_t now = FileClockNanoseconds();
  const NodeStatus status = StatusOf(path);
  if (status.stamp != folder.stamp || folder.may_change_unnoticed) folder.types.clear();
  folder.stamp = status.stamp;
  // A folder that is missing, or a link to one that may be anywhere, has no times that say so.
  folder.may_change_unnoticed =
      status.type != NodeType::kFolder || MayChangeUnnoticed(folder.stamp, now);
  return folder;
}

void PlaceMemory::BeginChecks() {
  if (!mounts_.valid()) {
    mounts_ = UniqueFd(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    folders_.clear();
  }
  pollfd entry = {mounts_.get(), POLLPRI, 0};
  if (!mounts_.valid() || poll(&entry, 1, 0) != 0) folders_.clear();
  for (auto& [path, folder] : folders_) folder.is_checked = false;
}

}  // namespace cordon::internal
