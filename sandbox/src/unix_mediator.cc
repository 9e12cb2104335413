#include "unix_mediator.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "directory_reader.h"
#include "listed_sockets.h"
#include "seccomp_filter.h"
#include "syscall_policy.h"
#include "unix_socket_diag.h"

namespace cordon::internal {
namespace {

CallAnswer Fails(int error_number) { return {.goes_on = false, .error_number = error_number}; }

constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);

// A copy of the caller's socket, or the errno that the call gets.
OpenedNode CopySocket(const Caller& caller) {
  OpenedNode copy = {caller.CopyDescriptor(caller.number(0)), 0};
  if (!copy.fd.valid()) copy.error_number = caller.is_out_of_reach() ? EACCES : EBADF;
  return copy;
}

// Negative: it is no socket.
int FamilyOf(int socket) {
  int family = -1;
  socklen_t size = sizeof family;
  return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 ? family : -1;
}

// The bytes of a socket address, or the errno that connect(2) has for it.
struct ReadAddress {
  int error_number = 0;
  std::string bytes;
};

ReadAddress AddressOf(const Caller& caller) {
  const int size = caller.number(2);
  // As the kernel's unix_validate_addr.
  if (size <= static_cast<int>(kPathOffset) || size > static_cast<int>(sizeof(sockaddr_un))) {
    return {EINVAL, {}};
  }
  ReadAddress read = {0, std::string(static_cast<std::size_t>(size), '\0')};
  if (!caller.Read(caller.argument(1), read.bytes.data(), read.bytes.size())) return {EFAULT, {}};
  sa_family_t family = AF_UNSPEC;
  std::memcpy(&family, read.bytes.data(), sizeof family);
  if (family != AF_UNIX) return {EINVAL, {}};
  return read;
}

void SetAddress(std::string_view path, PendingConnects::Request& request) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  std::memcpy(&request.address, &address, sizeof address);
  request.size = static_cast<socklen_t>(kPathOffset + path.size());
}

// This program may have more power than its commands.
bool OwnerMayWrite(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & S_IWUSR) != 0;
}

// `path`, absolute. What it says of the caller's own process is about that one, not about this
// program. Empty when it starts nowhere.
std::string AbsolutePath(const Caller& caller, std::string_view path) {
  if (path.starts_with("/dev/fd/")) {
    return AbsolutePath(caller, absl::StrCat("/proc/self", std::string(path.substr(4))));
  }
  for (const std::string_view self : {"/proc/self/", "/proc/thread-self/"}) {
    if (!path.starts_with(self)) continue;
    path.remove_prefix(self.size());
    if (path.starts_with("root/")) return std::string(path.substr(4));
    int descriptor = AT_FDCWD;
    if (path.starts_with("fd/")) {
      path.remove_prefix(3);
      const std::string_view number = path.substr(0, path.find('/'));
      if (!absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &descriptor))
        return {};
    } else if (!path.starts_with("cwd/")) {
      return {};
    }
    path.remove_prefix(std::min(path.find('/'), path.size()));
    const std::string place = caller.FolderPath(descriptor);
    return place.empty() ? place : absl::StrCat(place, std::string(path));
  }
  if (path.starts_with('/')) return std::string(path);
  const std::string from = caller.FolderPath(AT_FDCWD);
  return from.empty() ? from : JoinPath(from, path);
}

}  // namespace

bool IsConnectCall(int number) {
  static const int kept = CallNumber("connect", NativeArchitecture());
  return number == kept;
}

bool IsListenCall(int number) {
  static const int kept = CallNumber("listen", NativeArchitecture());
  return number == kept;
}

std::vector<UniqueFd> OpenListedSockets(const Profile& profile, const PathPolicy& paths) {
  std::vector<UniqueFd> listed;
  for (const std::string& path : profile.Settings().unix_sockets) {
    const ListedSocket found = FindListedSocket(paths, path, /*has_view=*/false);
    if (found.socket.empty()) continue;
    OpenedNode opened = OpenPlain(found.socket);
    if (opened.fd.valid()) listed.push_back(std::move(opened.fd));
  }
  return listed;
}

CallAnswer UnixMediator::OnCall(const seccomp_notif& call, int listener) {
  const Caller caller(call, listener);
  if (IsConnectCall(call.data.nr)) return OnConnect(caller, call, listener);
  if (!IsListenCall(call.data.nr)) return {};
  const OpenedNode socket = CopySocket(caller);
  if (!socket.fd.valid()) return Fails(socket.error_number);
  if (FamilyOf(socket.fd.get()) != AF_UNIX || !caller.IsWaiting()) return Fails(EACCES);
  return Fails(listen(socket.fd.get(), caller.number(1)) == 0 ? 0 : errno);
}

CallAnswer UnixMediator::OnConnect(const Caller& caller, const seccomp_notif& call, int listener) {
  OpenedNode socket = CopySocket(caller);
  if (!socket.fd.valid()) return Fails(socket.error_number);
  const int family = FamilyOf(socket.fd.get());
  if (family < 0) return Fails(ENOTSOCK);
  if (family != AF_UNIX) return {};
  PendingConnects::Request request;
  request.socket = std::move(socket.fd);
  const ReadAddress address = AddressOf(caller);
  if (!caller.IsWaiting() || caller.is_out_of_reach()) return Fails(EACCES);
  int error = address.error_number;
  if (error == 0) error = Address(caller, address.bytes, request);
  if (error == 0) error = pending_.Begin(std::move(request), call.id, listener);
  if (error != 0) return Fails(error);
  return {.goes_on = false, .is_given_later = true};
}

int UnixMediator::Address(const Caller& caller, std::string_view address,
                          PendingConnects::Request& request) {
  const std::string_view text = address.substr(kPathOffset);
  if (text.front() == '\0') return ToName(caller, text, request);
  return ToFile(caller, std::string(text.substr(0, text.find('\0'))), request);
}

int UnixMediator::ToFile(const Caller& caller, const std::string& path,
                         PendingConnects::Request& request) {
  OpenedNode object = Open(caller, path);
  if (!object.fd.valid()) return object.error_number;
  struct stat status = {};
  if (fstat(object.fd.get(), &status) != 0) return EACCES;
  if (!S_ISSOCK(status.st_mode)) return ECONNREFUSED;
  if (!IsListed(object.fd.get())) {
    const int error = CheckOwn(caller, object.fd.get());
    const std::string place = PlaceOf(object.fd.get());
    if (error == EACCES && !place.empty() && observation_ != nullptr) {
      observation_->OnRefusedSocket(place);
    }
    if (error != 0) return error;
    if (!OwnerMayWrite(status)) return EACCES;
  }
  SetAddress(absl::StrCat("/proc/self/fd/", object.fd.get()), request);
  request.held.push_back(std::move(object.fd));
  return 0;
}

// The error is what the kernel has for the sockets of others (LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET).
int UnixMediator::ToName(const Caller& caller, std::string_view name,
                         PendingConnects::Request& request) {
  const std::optional<SocketNumbers> bound = SocketsNamed(name);
  if (!bound.has_value()) return EPERM;
  if (bound->empty()) return ECONNREFUSED;
  const std::optional<HeldProcess> asking = HoldProcess(caller.thread());
  if (!asking.has_value() || !caller.IsWaiting()) return EPERM;
  request.held = own_.Hold(*asking, *bound);
  if (request.held.empty()) return EPERM;
  SetAddress(name, request);
  return 0;
}

OpenedNode UnixMediator::Open(const Caller& caller, const std::string& path) {
  const std::string absolute = AbsolutePath(caller, path);
  if (absolute.empty() || !caller.IsWaiting()) return {UniqueFd(), ENOENT};
  const std::string plain = plain_.WithoutLinks(absolute, /*follow=*/true);
  if (plain.empty()) return {UniqueFd(), EACCES};
  OpenedNode object = OpenPlain(plain);
  if (object.error_number == ELOOP) object.error_number = EACCES;  // Exchanged meanwhile.
  return object;
}

bool UnixMediator::IsListed(int object) const {
  struct stat status = {};
  if (fstat(object, &status) != 0) return false;
  return std::any_of(listed_.begin(), listed_.end(), [&status](const UniqueFd& listed) {
    struct stat known = {};
    return fstat(listed.get(), &known) == 0 && known.st_dev == status.st_dev &&
           known.st_ino == status.st_ino;
  });
}

// A file is bound to one socket in all its life. Where the kernel's numbers tell several apart
// badly, all of them must be the tree's own.
int UnixMediator::CheckOwn(const Caller& caller, int object) {
  const std::optional<KernelFileIdentity> file = KernelIdentityOf(object);
  if (!file.has_value()) return EACCES;
  const std::optional<SocketNumbers> bound = SocketsBoundTo(*file);
  if (!bound.has_value()) return EACCES;
  if (bound->empty()) return ECONNREFUSED;  // Left behind by who has ended.
  if (!places_->Has(PlaceOf(object))) return EACCES;
  const std::optional<HeldProcess> asking = HoldProcess(caller.thread());
  if (!asking.has_value() || !caller.IsWaiting()) return EACCES;
  return own_.Hold(*asking, *bound).empty() ? EACCES : 0;
}

}  // namespace cordon::internal
