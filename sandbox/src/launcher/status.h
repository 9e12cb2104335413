// What a descriptor is open on.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_STATUS_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_STATUS_H_

#include <linux/fcntl.h>
#include <linux/stat.h>

#include <cstdint>

#include "launcher/fd.h"

namespace cordon::launcher {

using FileStatus = struct statx;

// inode(7); the kernel's header leaves these to libc where there is one.
inline constexpr unsigned kTypeMask = 0170000;
inline constexpr unsigned kFolderType = 0040000;
inline constexpr unsigned kRegularType = 0100000;
inline constexpr unsigned kLinkType = 0120000;

// What the kernel knows of it: no server of a network or FUSE file system is asked, which might
// never answer (statx(2)). Returns an errno.
[[nodiscard]] inline int StatusOf(int place, FileStatus* status) {
  return ErrorOf(
      Call(__NR_statx, place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, status));
}

[[nodiscard]] inline bool IsFolder(int place) {
  FileStatus status;
  return StatusOf(place, &status) == 0 && (status.stx_mode & kTypeMask) == kFolderType;
}

[[nodiscard]] inline bool SameDevice(const FileStatus& a, const FileStatus& b) {
  return a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

[[nodiscard]] inline bool SameObject(const FileStatus& a, const FileStatus& b) {
  return SameDevice(a, b) && a.stx_ino == b.stx_ino;
}

// As st_dev of stat(2) has it.
[[nodiscard]] inline std::uint64_t DeviceNumber(const FileStatus& status) {
  const std::uint64_t major = status.stx_dev_major;
  const std::uint64_t minor = status.stx_dev_minor;
  return ((major & ~0xfffULL) << 32) | ((major & 0xfff) << 8) | ((minor & ~0xffULL) << 12) |
         (minor & 0xff);
}

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_STATUS_H_
