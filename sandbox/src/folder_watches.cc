#include "folder_watches.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cordon::internal {
namespace {

// Names that come and go, the folder's own rights, and that it itself is moved or removed.
constexpr std::uint32_t kEvents =
    IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// The user's other programs, editors above all, need watches, too.
constexpr std::size_t kShare = 4;

constexpr std::uint32_t kXfs =
    0x58465342;  // XFS_SUPER_MAGIC; no header of the kernel's API has it.

std::size_t MaxWatchesOfUser() {
  std::ifstream file("/proc/sys/fs/inotify/max_user_watches");
  std::size_t count = 0;
  return file >> count ? count : 0;
}

bool IsLocalDisk(const struct statfs& status) {
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case kXfs:
      return true;
  }
  return false;
}

}  // namespace

void FolderWatch::Stop() {
  if (owner_ != nullptr) owner_->Remove(*this);
  owner_ = nullptr;
}

std::unique_ptr<FolderWatches> FolderWatches::Start() {
  const std::size_t max_watches = MaxWatchesOfUser() / kShare;
  UniqueFd notifications(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  UniqueFd mounts(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (max_watches == 0 || !notifications.valid() || !mounts.valid()) return nullptr;
  return std::make_unique<FolderWatches>(std::move(notifications), std::move(mounts), max_watches);
}

FolderWatches::FolderWatches(UniqueFd notifications, UniqueFd mounts, std::size_t max_watches)
    : notifications_(std::move(notifications)),
      mounts_(std::move(mounts)),
      max_watches_(max_watches) {}

bool FolderWatches::IsWatchable(int folder) {
  struct statfs status;
  return fstatfs(folder, &status) == 0 && IsLocalDisk(status);
}

bool FolderWatches::KeepsTimes(const std::string& path) {
  struct statfs status;
  if (statfs(path.c_str(), &status) != 0) return false;
  return IsLocalDisk(status) || static_cast<std::uint32_t>(status.f_type) == OVERLAYFS_SUPER_MAGIC;
}

bool FolderWatches::Begin(int folder, FolderWatch& watch) {
  if (!watch.active() && watches_.size() >= max_watches_) has_room_ = false;
  if (!watch.active() && !has_room_) return false;
  // The folder that is open, whatever its path leads to now.
  const std::string path = absl::StrCat("/proc/self/fd/", folder);
  const int number = inotify_add_watch(notifications_.get(), path.c_str(), kEvents);
  if (number < 0 && errno == ENOSPC) has_room_ = false;
  if (watch.number_ != number) watch.Stop();
  if (number < 0) return false;
  watch.changed_ = false;
  if (watch.active()) return true;
  watch.owner_ = this;
  watch.number_ = number;
  watches_[number].push_back(&watch);
  return true;
}

void FolderWatches::Remove(const FolderWatch& watch) {
  const auto found = watches_.find(watch.number_);
  if (found == watches_.end()) return;
  std::erase(found->second, &watch);
  if (!found->second.empty()) return;
  watches_.erase(found);
  (void)inotify_rm_watch(notifications_.get(), watch.number_);
}

bool FolderWatches::Drain() {
  pollfd mounts = {mounts_.get(), POLLPRI, 0};
  // Something else may be at the place of any folder, which none of them can tell.
  bool all = poll(&mounts, 1, 0) != 0;
  bool some = false;
  alignas(inotify_event) char buffer[16 * 1024];
  for (;;) {
    const ssize_t size = read(notifications_.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    // Anything else means that nothing is known.
    if (size <= 0) all = all || size == 0 || errno != EAGAIN;
    if (size <= 0) break;
    some = true;
    Take({buffer, static_cast<std::size_t>(size)});
  }
  if (all) MarkAll();
  return some || all;
}

void FolderWatches::MarkAll() {
  for (auto& [number, watches] : watches_) {
    for (FolderWatch* watch : watches) watch->changed_ = true;
  }
}

void FolderWatches::Take(std::string_view events) {
  while (events.size() >= sizeof(inotify_event)) {
    inotify_event event;
    std::memcpy(&event, events.data(), sizeof event);
    events.remove_prefix(std::min(events.size(), sizeof event + event.len));
    if ((event.mask & IN_Q_OVERFLOW) != 0) MarkAll();
    const auto found = watches_.find(event.wd);
    if (found == watches_.end()) continue;
    for (FolderWatch* watch : found->second) watch->changed_ = true;
    if ((event.mask & IN_IGNORED) == 0) continue;
    // The kernel has given it up: the folder or its file system is gone.
    for (FolderWatch* watch : found->second) watch->owner_ = nullptr;
    watches_.erase(found);
  }
}

}  // namespace cordon::internal
