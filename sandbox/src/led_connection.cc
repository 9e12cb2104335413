#include "led_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

// 127.0.0.1 at `port`, as sockets of `family` name it.
struct Loopback {
  Loopback(int family, std::uint16_t port) {
    if (family == AF_INET6) {
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(port);
      v6.sin6_addr.s6_addr[10] = v6.sin6_addr.s6_addr[11] = 0xff;
      v6.sin6_addr.s6_addr[12] = 127;
      v6.sin6_addr.s6_addr[15] = 1;
      size = sizeof v6;
    } else {
      v4.sin_family = AF_INET;
      v4.sin_port = htons(port);
      v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&v6); }

  union {
    sockaddr_in6 v6 = {};
    sockaddr_in v4;
  };
  socklen_t size = sizeof(sockaddr_in);
};

int ConnectToLoopback(int socket, std::uint16_t port) {
  const Loopback address(Option(socket, SO_DOMAIN), port);
  return Begin(socket, address.get(), address.size);
}

bool IsClosed(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_state == TCP_CLOSE;
}

// The port that it has at 127.0.0.1; 0 when it has none there.
std::uint16_t LoopbackPort(int socket) {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6 = {};
  } local;
  socklen_t size = sizeof local;
  if (getsockname(socket, &local.any, &size) != 0) return 0;
  if (local.any.sa_family == AF_INET) {
    return local.v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK) ? ntohs(local.v4.sin_port) : 0;
  }
  const Loopback own(AF_INET6, 0);
  const bool is_own =
      local.any.sa_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&local.v6.sin6_addr, &own.v6.sin6_addr);
  return is_own ? ntohs(local.v6.sin6_port) : 0;
}

void ClearOption(int socket, int level, int name) {
  constexpr int kOff = 0;
  (void)setsockopt(socket, level, name, &kOff, sizeof kOff);
}

// Gives it a port at 127.0.0.1 that nobody else can have meanwhile, and returns that; 0 when that
// cannot be had. The command may undo each option at once: then it has no port, or shares one,
// which others can only ask to reach what it may reach itself.
std::uint16_t TakePort(int socket) {
  ClearOption(socket, SOL_SOCKET, SO_REUSEADDR);
  ClearOption(socket, SOL_SOCKET, SO_REUSEPORT);
  ClearOption(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
  const int family = Option(socket, SO_DOMAIN);
  if (family == AF_INET6) ClearOption(socket, IPPROTO_IPV6, IPV6_V6ONLY);
  const Loopback address(family, 0);
  // EINVAL: it has one, from a connect that failed.
  if (bind(socket, address.get(), address.size) != 0 && errno != EINVAL) return 0;
  return LoopbackPort(socket);
}

bool IsV6Only(int socket) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &value, &size) == 0 && value != 0;
}

// A socket that no longer connects can be used for another try.
void GiveUp(int socket) {
  sockaddr none = {};
  none.sa_family = AF_UNSPEC;
  (void)connect(socket, &none, sizeof none);
}

}  // namespace

int LedConnections::Connect(int socket, const ObservedAddress& to) {
  const std::shared_ptr<EgressDoor> door = door_.lock();
  if (door == nullptr || !IsTcp(socket)) return EACCES;
  if (to.is_v6 != (Option(socket, SO_DOMAIN) == AF_INET6)) return EAFNOSUPPORT;
  if (to.is_mapped && IsV6Only(socket)) return ENETUNREACH;
  // One that is connected, or about to be, stays so: the kernel says which.
  if (!IsClosed(socket)) return Finish(socket, door->port());
  return ConnectAsSaid(socket, *door, to);
}

int LedConnections::ConnectAsSaid(int socket, EgressDoor& door, const ObservedAddress& to) {
  const std::uint16_t source = TakePort(socket);
  if (source == 0) return EACCES;
  if (const int refused = door.Expect(source, to.host, to.port); refused != 0) return refused;
  const int error = Finish(socket, door.port());
  if (error != 0 && error != EINPROGRESS) door.Forget(source);
  return error;
}

int LedConnections::Finish(int socket, std::uint16_t port) {
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0) return EACCES;
  const int error = ConnectToLoopback(socket, port);
  const bool blocks = (flags & O_NONBLOCK) == 0;
  return blocks && error == EINPROGRESS ? Await(socket, port) : error;
}

// On the loopback a connection is there at once, unless the listener's queue is full.
int LedConnections::Await(int socket, std::uint16_t port) {
  const int patience = refused_waits_ < kMostWaits ? static_cast<int>(kPatience.count()) : 0;
  pollfd ready = {socket, POLLOUT, 0};
  if (poll(&ready, 1, patience) == 1) {
    refused_waits_ = 0;
    return ConnectToLoopback(socket, port);  // Which says how the first one ended.
  }
  ++refused_waits_;
  GiveUp(socket);
  return ECONNREFUSED;
}

}  // namespace cordon::internal
