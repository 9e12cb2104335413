// IP addresses as bytes, and their text. Pure values; safe from any thread.

#ifndef CORDON_SDK_IP_ADDRESS_H_
#define CORDON_SDK_IP_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // Network order; IPv4 in the first four.
  bool is_v6 = false;

  // Nothing unless inet_pton(3) takes it. An IPv4-mapped address becomes the IPv4 address.
  [[nodiscard]] static std::optional<IpAddress> Parse(std::string_view text);
  [[nodiscard]] static IpAddress V4(std::uint32_t host_order);
  // `bytes` in network order, with mapped addresses as IPv4.
  [[nodiscard]] static IpAddress V6(const std::array<std::uint8_t, 16>& bytes);
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

}  // namespace cordon

#endif  // CORDON_SDK_IP_ADDRESS_H_
