#include "led_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace cordon::internal {
namespace {

int Option(int socket, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

bool IsTcp(int socket) {
  const int domain = Option(socket, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && Option(socket, SO_TYPE) == SOCK_STREAM &&
         Option(socket, SO_PROTOCOL) == IPPROTO_TCP;
}

// A connect(2) that does not wait, whatever O_NONBLOCK says: that flag is the command's, too, which
// may change it at any moment. Without data this is a plain connection (tcp(7), MSG_FASTOPEN).
int Begin(int socket, const sockaddr* address, socklen_t size) {
  constexpr int kFlags = MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL;
  if (sendto(socket, nullptr, 0, kFlags, address, size) >= 0) return 0;
  if (errno != EOPNOTSUPP) return errno;
  // A host that has it switched off (net.ipv4.tcp_fastopen).
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0) return EACCES;
  const int error = connect(socket, address, size) == 0 ? 0 : errno;
  (void)fcntl(socket, F_SETFL, flags);
  return error;
}

int ConnectToLoopback(int socket, std::uint16_t port) {
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 mapped = {};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = htons(port);
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
  mapped.sin6_addr.s6_addr[12] = 127;
  mapped.sin6_addr.s6_addr[15] = 1;
  const bool is_v6 = Option(socket, SO_DOMAIN) == AF_INET6;
  const auto* address =
      is_v6 ? reinterpret_cast<const sockaddr*>(&mapped) : reinterpret_cast<const sockaddr*>(&v4);
  return Begin(socket, address, is_v6 ? sizeof mapped : sizeof v4);
}

// A socket that no longer connects can be used for another try.
void GiveUp(int socket) {
  sockaddr none = {};
  none.sa_family = AF_UNSPEC;
  (void)connect(socket, &none, sizeof none);
}

}  // namespace

int LedConnections::Connect(int socket) {
  if (port_ == 0 || !IsTcp(socket)) return EACCES;
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0) return EACCES;
  const int error = ConnectToLoopback(socket, port_);
  const bool blocks = (flags & O_NONBLOCK) == 0;
  return blocks && error == EINPROGRESS ? Await(socket) : error;
}

// On the loopback a connection is there at once, unless the listener's queue is full.
int LedConnections::Await(int socket) {
  const int patience = refused_waits_ < kMostWaits ? static_cast<int>(kPatience.count()) : 0;
  pollfd ready = {socket, POLLOUT, 0};
  if (poll(&ready, 1, patience) == 1) {
    refused_waits_ = 0;
    return ConnectToLoopback(socket, port_);  // Which says how the first one ended.
  }
  ++refused_waits_;
  GiveUp(socket);
  return ECONNREFUSED;
}

}  // namespace cordon::internal
