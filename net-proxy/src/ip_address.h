// IP addresses as bytes, and their text and socket forms. Pure values; safe from any thread.

#ifndef CORDON_NET_PROXY_SRC_IP_ADDRESS_H_
#define CORDON_NET_PROXY_SRC_IP_ADDRESS_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::internal::egress {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // Network order; IPv4 in the first four.
  bool is_v6 = false;

  // Nothing unless inet_pton(3) takes it. An IPv4-mapped address becomes the IPv4 address.
  [[nodiscard]] static std::optional<IpAddress> Parse(std::string_view text);
  [[nodiscard]] static IpAddress V4(std::uint32_t host_order);
  // The text that inet_ntop(3) writes.
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] std::uint32_t V4Value() const;  // Host order; for IPv4 only.

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// The addresses whose first bits are those of one.
struct IpPrefix {
  IpAddress address;
  int bits = 0;

  // `address/length`, or an address for itself alone. `text` is the host of a `NetworkTarget`.
  [[nodiscard]] static std::optional<IpPrefix> Parse(std::string_view text);
};

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

#endif  // CORDON_NET_PROXY_SRC_IP_ADDRESS_H_
