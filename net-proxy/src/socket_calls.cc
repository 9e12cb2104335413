#include "socket_calls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::internal::egress {
namespace {

constexpr int kBacklog = 1024;

void SetOption(int fd, int level, int name, int value) {
  // None of ours is needed for safety; where the kernel lacks one, things are only slower.
  setsockopt(fd, level, name, &value, sizeof value);
}

absl::Status Unbindable(std::string_view what, const Endpoint& local, int error_number) {
  const absl::Status cause =
      MakeErrnoError(error_number, absl::StrFormat("cannot bind %s for %s", local.Text(), what));
  const std::string_view message(cause.message().data(), cause.message().size());
  return MakeError(ErrorCode::kUnavailable, message);
}

}  // namespace

absl::StatusOr<UniqueFd> MakeHostSocket(int family, int type) {
  UniqueFd fd(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return MakeErrnoError(errno, "cannot make a socket");
  return fd;
}

absl::Status BindAndListen(int fd, const Endpoint& local, int type, std::string_view what) {
  if (type == SOCK_STREAM) SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  const SocketAddress address = ToSocketAddress(local);
  if (bind(fd, address.get(), address.size) != 0) return Unbindable(what, local, errno);
  if (type == SOCK_STREAM && listen(fd, kBacklog) != 0) return Unbindable(what, local, errno);
  return absl::OkStatus();
}

int StartConnect(int fd, const Endpoint& peer) {
  const SocketAddress address = ToSocketAddress(peer);
  // Interrupted, it goes on by itself (connect(2)).
  if (connect(fd, address.get(), address.size) == 0) return 0;
  return errno == EINTR ? EINPROGRESS : errno;
}

int PendingError(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

ssize_t Receive(int fd, void* buffer, std::size_t size) {
  ssize_t count = 0;
  do {
    count = recv(fd, buffer, size, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  return count;
}

ssize_t Send(int fd, const void* buffer, std::size_t size) {
  ssize_t count = 0;
  do {
    count = send(fd, buffer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count;
}

Endpoint LocalEndpoint(int fd) {
  SocketAddress address;
  if (getsockname(fd, address.get(), &address.size) != 0) return {};
  return FromSocketAddress(address);
}

Endpoint PeerEndpoint(int fd) {
  SocketAddress address;
  if (getpeername(fd, address.get(), &address.size) != 0) return {};
  return FromSocketAddress(address);
}

void SetNoDelay(int fd) { SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void SetKeepAlive(int fd) { SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1); }

void SetResetOnClose(int fd) {
  const linger now{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace cordon::internal::egress
