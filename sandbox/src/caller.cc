#include "caller.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL  // Linux 6.9
#endif

constexpr std::size_t kPageBytes = 4096;

UniqueFd OpenPidfd(pid_t id, unsigned flags) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, id, flags)));
}

}  // namespace

bool Caller::IsWaiting() const {
  return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &call_.id) == 0;
}

bool Caller::Read(std::uint64_t address, void* bytes, std::size_t size) const {
  if (id() <= 0) return false;
  const iovec here = {bytes, size};
  const iovec there = {reinterpret_cast<void*>(address), size};
  const ssize_t got = process_vm_readv(id(), &here, 1, &there, 1, 0);
  if (got < 0 && (errno == EPERM || errno == ENOSYS)) is_out_of_reach_ = true;
  return got == static_cast<ssize_t>(size);
}

std::optional<std::string> Caller::ReadPath(std::uint64_t address) const {
  std::string text;
  while (text.size() < PATH_MAX) {
    // Never across a page in one go: the next one may not be there.
    char piece[kPageBytes];
    const std::size_t size =
        std::min<std::size_t>(kPageBytes - address % kPageBytes, PATH_MAX - text.size());
    if (!Read(address, piece, size)) return std::nullopt;
    const std::size_t length = strnlen(piece, size);
    text.append(piece, length);
    if (length < size) return text;
    address += size;
  }
  return std::nullopt;
}

std::string Caller::FolderPath(int descriptor) const {
  const std::string place = descriptor == AT_FDCWD
                                ? absl::StrCat("/proc/", id(), "/cwd")
                                : absl::StrCat("/proc/", id(), "/fd/", descriptor);
  std::string path = ReadLink(place);
  constexpr std::string_view kGone = " (deleted)";
  if (!path.starts_with('/') || path.ends_with(kGone)) return {};
  return path;
}

UniqueFd Caller::OpenRoot() const {
  const std::string place = absl::StrCat("/proc/", id(), "/root");
  return UniqueFd(open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd Caller::OpenDescriptor(int descriptor) const {
  if (id() <= 0 || (descriptor < 0 && descriptor != AT_FDCWD)) return UniqueFd();
  const std::string place = descriptor == AT_FDCWD
                                ? absl::StrCat("/proc/", id(), "/cwd")
                                : absl::StrCat("/proc/", id(), "/fd/", descriptor);
  return UniqueFd(open(place.c_str(), O_PATH | O_CLOEXEC));
}

// Its folder in /proc is root's when nobody may look into it.
bool Caller::IsOfThisUser() const {
  struct stat folder = {};
  return id() > 0 && stat(absl::StrCat("/proc/", id()).c_str(), &folder) == 0 &&
         folder.st_uid == geteuid();
}

// pidfd_open(2) takes a thread that is not its process's first one only since Linux 6.9.
UniqueFd Caller::OpenProcess() const {
  UniqueFd process = OpenPidfd(id(), 0);
  if (!process.valid()) process = OpenPidfd(id(), PIDFD_THREAD);
  return process;
}

UniqueFd Caller::CopyDescriptor(int descriptor) const {
  const UniqueFd process = OpenProcess();
  if (!process.valid()) return UniqueFd();
  UniqueFd copy(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
  if (!copy.valid() && errno == EPERM) is_out_of_reach_ = true;
  return copy;
}

int Caller::Give(int descriptor, bool close_on_exec) const {
  seccomp_notif_addfd given = {};
  given.id = call_.id;
  given.srcfd = static_cast<std::uint32_t>(descriptor);
  given.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  const int number = ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
  return number >= 0 ? number : -errno;
}

int Caller::SocketType(int descriptor) const {
  const UniqueFd copy = CopyDescriptor(descriptor);
  int type = 0;
  socklen_t size = sizeof type;
  if (!copy.valid() || getsockopt(copy.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0) return 0;
  return type;
}

std::optional<int> OwnDescriptor(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"}) {
    int number = -1;
    if (path.starts_with(folder) &&
        absl::SimpleAtoi(
            absl::string_view(path.data() + folder.size(), path.size() - folder.size()), &number) &&
        number >= 0) {
      return number;
    }
  }
  return std::nullopt;
}

}  // namespace cordon::internal
