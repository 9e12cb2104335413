// An address and a port, and their text and socket forms. Pure values; safe from any thread.

#ifndef CORDON_NET_PROXY_SRC_ENDPOINT_H_
#define CORDON_NET_PROXY_SRC_ENDPOINT_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "cordon/sdk/ip_address.h"

namespace cordon::internal::egress {

struct Endpoint {
  IpAddress ip;
  std::uint16_t port = 0;

  [[nodiscard]] std::string Text() const;  // `1.2.3.4:5`, `[::1]:5`.

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// A socket address and its size.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  [[nodiscard]] const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage);  // As every socket call wants it.
  }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

[[nodiscard]] SocketAddress ToSocketAddress(const Endpoint& endpoint);
// Port 0 of 0.0.0.0 for other families. Mapped addresses become IPv4.
[[nodiscard]] Endpoint FromSocketAddress(const SocketAddress& address);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_ENDPOINT_H_
