#include "directory_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <ctime>

#include "host_journal.h"

namespace cordon::internal {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;

OpenedNode Open(int root, const char* path, std::uint64_t flags, std::uint64_t resolve) {
  HostJournal::NoteUnrepeatable();
  open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  while (true) {
    const long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd >= 0) return {UniqueFd(static_cast<int>(fd)), 0};
    // EAGAIN: a rename was under way while the kernel checked for an escape (openat2(2)).
    if (errno != EINTR && errno != EAGAIN) return {UniqueFd(), errno};
  }
}

NodeType TypeOfMode(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return NodeType::kFolder;
    case S_IFREG:
      return NodeType::kFile;
    case S_IFLNK:
      return NodeType::kSymlink;
    case S_IFSOCK:
      return NodeType::kSocket;
  }
  return NodeType::kOther;
}

std::int64_t Nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

NodeStatus Status(int root, const char* path, int flags) {
  HostJournal::NoteUnrepeatable();
  constexpr unsigned kUniqueMountId = 0x4000;  // STATX_MNT_ID_UNIQUE, Linux 6.8.
  struct statx status = {};
  if (statx(root, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | flags,
            STATX_TYPE | STATX_INO | STATX_NLINK | STATX_MTIME | STATX_CTIME | STATX_BTIME |
                STATX_MNT_ID | kUniqueMountId,
            &status) != 0) {
    return {};
  }
  NodeStatus result;
  result.type = TypeOfMode(status.stx_mode);
  result.stamp.device = makedev(status.stx_dev_major, status.stx_dev_minor);
  result.stamp.inode = status.stx_ino;
  result.stamp.modified_ns = Nanoseconds(status.stx_mtime);
  result.stamp.changed_ns = Nanoseconds(status.stx_ctime);
  if ((status.stx_mask & STATX_BTIME) != 0) result.born_ns = Nanoseconds(status.stx_btime);
  if ((status.stx_mask & (STATX_MNT_ID | kUniqueMountId)) != 0) result.mount = status.stx_mnt_id;
  result.links = status.stx_nlink;
  return result;
}

NodeType TypeOfEntry(int folder, const char* name, unsigned char entry_type) {
  // File systems may leave the type out (getdents(2)).
  if (entry_type != DT_UNKNOWN) return TypeOfMode(DTTOIF(entry_type));
  return StatusOf(folder, name).type;
}

// The record that the kernel writes (getdents(2)); its name follows.
struct KernelEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  unsigned char type;
};
constexpr std::size_t kNameOffset = 19;

}  // namespace

std::int64_t FileClockNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

bool MayChangeUnnoticed(const DirectoryStamp& stamp, std::int64_t seen_at) {
  constexpr std::int64_t kStampResolutionNs = 40'000'000;
  // Without any fraction it is one of a file system that has whole seconds only, or two of them.
  const bool is_coarse = stamp.changed_ns % kNanosecondsPerSecond == 0;
  const std::int64_t resolution = is_coarse ? 2 * kNanosecondsPerSecond : kStampResolutionNs;
  return std::max(stamp.modified_ns, stamp.changed_ns) >= seen_at - resolution;
}

OpenedNode OpenFolderAt(const std::string& path) {
  return Open(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK,
              RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

OpenedNode OpenFolderBeneath(int root, const std::string& relative) {
  return Open(root, relative.empty() ? "." : relative.c_str(),
              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK,
              RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

NodeStatus StatusOf(int root, const std::string& path) { return Status(root, path.c_str(), 0); }
NodeStatus StatusOf(const std::string& absolute_path) { return StatusOf(AT_FDCWD, absolute_path); }
NodeStatus StatusOf(int fd) { return Status(fd, "", AT_EMPTY_PATH); }
NodeStatus KnownStatusOf(const std::string& absolute_path) {
  return Status(AT_FDCWD, absolute_path.c_str(), AT_STATX_DONT_SYNC);
}

int ReadNames(int folder, VisitName visit) {
  HostJournal::NoteUnrepeatable();
  alignas(KernelEntry) std::array<char, kReadBytes> buffer;
  while (true) {
    const long bytes = syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (bytes < 0) return errno;
    if (bytes == 0) return 0;
    for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
      KernelEntry entry;
      std::memcpy(&entry, buffer.data() + at, kNameOffset);
      const char* name = buffer.data() + at + kNameOffset;
      at += entry.length;
      if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
      visit(name, TypeOfEntry(folder, name, entry.type), entry.inode);
    }
  }
}

std::string ReadLink(const std::string& path) {
  HostJournal::NoteUnrepeatable();
  std::array<char, PATH_MAX> text;
  const ssize_t bytes = readlink(path.c_str(), text.data(), text.size());
  return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : std::string();
}

std::string ReadSmallFile(const std::string& path, std::size_t max_bytes) {
  // Not to wait for the writer of a fifo in its place.
  const OpenedNode file = Open(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY,
                               RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
  struct stat status = {};
  if (!file.fd.valid() || fstat(file.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text;
  std::array<char, kReadBytes> buffer;
  while (text.size() < max_bytes) {
    const ssize_t bytes =
        read(file.fd.get(), buffer.data(), std::min(buffer.size(), max_bytes - text.size()));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  std::string path;
  path.reserve(folder.size() + 1 + name.size());
  path.append(folder);
  if (!path.empty() && path.back() != '/' && !name.empty()) path.push_back('/');
  path.append(name);
  return path;
}

std::string ParentPath(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return "/";
  return std::string(path.substr(0, slash));
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace cordon::internal
