#include "cordon/sdk/path_identity.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "link_resolver.h"
#include "normal_path.h"

namespace cordon {
namespace {

// The kernel's own limit, path_resolution(7).
constexpr int kMaxSymlinks = 40;

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

struct Opened {
  UniqueFd fd;
  int error_number = 0;  // When `fd` is not valid.
};

Opened OpenWithoutLinks(int folder_fd, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  do {
    fd = syscall(SYS_openat2, folder_fd, path.c_str(), &how, sizeof(how));
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return {UniqueFd(), errno};
  return {UniqueFd(static_cast<int>(fd)), 0};
}

bool MeansMissing(int error_number) { return error_number == ENOENT || error_number == ENOTDIR; }

absl::Status OpenError(int error_number, std::string_view path) {
  const std::string shown = EscapeForDisplay(path);
  // Here, and only here, ELOOP says that a path leads elsewhere.
  if (error_number == ELOOP) {
    return MakeError(ErrorCode::kPathEscape,
                     absl::StrFormat("%s passes through a symbolic link; resolve it first", shown));
  }
  return MakeErrnoError(error_number, absl::StrFormat("cannot open %s", shown));
}

absl::StatusOr<PathIdentity> IdentityOf(int fd) {
  struct statx facts {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &facts) != 0) {
    return MakeErrnoError(errno, "cannot examine an opened path");
  }
  PathIdentity identity;
  identity.device = makedev(facts.stx_dev_major, facts.stx_dev_minor);
  identity.inode = facts.stx_ino;
  identity.type = facts.stx_mode & S_IFMT;
  if ((facts.stx_mask & STATX_BTIME) != 0) {
    identity.birth_ns = facts.stx_btime.tv_sec * kNanosecondsPerSecond + facts.stx_btime.tv_nsec;
  }
  return identity;
}

absl::StatusOr<AcquiredPath> Acquired(UniqueFd fd, std::string_view missing_suffix) {
  absl::StatusOr<PathIdentity> identity = IdentityOf(fd.get());
  if (!identity.ok()) return identity.status();
  identity->missing_suffix = std::string(missing_suffix);
  return AcquiredPath{std::move(fd), *std::move(identity)};
}

// Opens component by component from the root: what is missing is then known to be missing in the
// very folder that is returned, whatever is renamed meanwhile.
absl::StatusOr<AcquiredPath> AcquireDeepestAncestor(std::string_view path) {
  Opened folder = OpenWithoutLinks(AT_FDCWD, "/");
  if (!folder.fd.valid()) return OpenError(folder.error_number, "/");
  std::string_view rest = path.substr(1);
  while (!rest.empty()) {
    const std::string_view component = rest.substr(0, rest.find('/'));
    Opened next = OpenWithoutLinks(folder.fd.get(), std::string(component));
    if (!next.fd.valid()) {
      if (MeansMissing(next.error_number)) break;
      return OpenError(next.error_number, path);
    }
    folder = std::move(next);
    rest.remove_prefix(std::min(component.size() + 1, rest.size()));
  }
  return Acquired(std::move(folder.fd), rest);
}

// The components of a path; empty ones and `.` mean nothing.
std::deque<std::string> Components(std::string_view path) {
  std::deque<std::string> components;
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    if (!component.empty() && component != ".") components.emplace_back(component);
    path.remove_prefix(std::min(component.size() + 1, path.size()));
  }
  return components;
}

absl::Status TooManyLinks(std::string_view path) {
  return MakeError(ErrorCode::kInvalidScope,
                   absl::StrFormat("%s passes through more than %d symbolic links",
                                   EscapeForDisplay(path), kMaxSymlinks));
}

// What the link at `path` holds; nothing when no link is there.
absl::StatusOr<std::optional<std::string>> ReadLink(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size >= 0) return std::string(target.data(), static_cast<std::size_t>(size));
  if (errno == EINVAL || MeansMissing(errno)) return std::nullopt;
  return MakeErrnoError(errno, absl::StrFormat("cannot resolve %s", EscapeForDisplay(path)));
}

}  // namespace

absl::StatusOr<AcquiredPath> AcquirePath(std::string_view path) {
  if (!internal::IsNormalAbsolutePath(path)) {
    return MakeError(
        ErrorCode::kInvalidScope,
        absl::StrFormat("\"%s\" is not an absolute, normal path", EscapeForDisplay(path)));
  }
  Opened whole = OpenWithoutLinks(AT_FDCWD, std::string(path));
  if (whole.fd.valid()) return Acquired(std::move(whole.fd), "");
  if (MeansMissing(whole.error_number)) return AcquireDeepestAncestor(path);
  return OpenError(whole.error_number, path);
}

absl::StatusOr<std::string> internal::LinkResolver::Resolve(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string_view::npos) {
    return MakeError(ErrorCode::kInvalidScope,
                     absl::StrFormat("\"%s\" is not an absolute path", EscapeForDisplay(path)));
  }
  std::deque<std::string> rest = Components(path);
  std::string resolved;  // Without its trailing slash: empty stands for the root.
  int links = 0;
  while (!rest.empty()) {
    const std::string component = std::move(rest.front());
    rest.pop_front();
    if (component == "..") {
      resolved.erase(std::min(resolved.rfind('/'), resolved.size()));
      continue;
    }
    std::string next = resolved;
    next.append("/").append(component);
    if (folders_.contains(next)) {
      resolved = std::move(next);
      continue;
    }
    const absl::StatusOr<std::optional<std::string>> target = ReadLink(next);
    if (!target.ok()) return target.status();
    if (!target->has_value()) {
      if (!rest.empty()) folders_.insert(next);
      resolved = std::move(next);
      continue;
    }
    if (++links > kMaxSymlinks) return TooManyLinks(path);
    if ((*target)->starts_with('/')) resolved.clear();
    const std::deque<std::string> inner = Components(**target);
    rest.insert(rest.begin(), inner.begin(), inner.end());
  }
  return resolved.empty() ? "/" : resolved;
}

absl::StatusOr<std::string> ResolveSymlinks(std::string_view path) {
  return internal::LinkResolver().Resolve(path);
}

}  // namespace cordon
