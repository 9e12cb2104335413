#include "cordon/sdk/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

namespace cordon {

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::string copy(text);
  if (copy.find('\0') != std::string::npos) return std::nullopt;
  in_addr v4{};
  if (inet_pton(AF_INET, copy.c_str(), &v4) == 1) return V4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (inet_pton(AF_INET6, copy.c_str(), &v6) == 1) return V6(std::to_array(v6.s6_addr));
  return std::nullopt;
}

std::optional<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::optional<IpAddress> address = IpAddress::Parse(text.substr(0, slash));
  if (!address.has_value()) return std::nullopt;
  IpPrefix prefix{*address, address->is_v6 ? 128 : 32};
  if (slash == text.size()) return prefix;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, prefix.bits);
  const bool is_number = read.ec == std::errc() && read.ptr == end;
  if (!is_number || prefix.bits < 0 || prefix.bits > (address->is_v6 ? 128 : 32)) {
    return std::nullopt;
  }
  return prefix;
}

IpAddress IpAddress::V6(const std::array<std::uint8_t, 16>& bytes) {
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  IpAddress ip;
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    std::copy(bytes.begin() + kMapped.size(), bytes.end(), ip.bytes.begin());
    return ip;
  }
  ip.is_v6 = true;
  ip.bytes = bytes;
  return ip;
}

IpAddress IpAddress::V4(std::uint32_t host_order) {
  IpAddress ip;
  for (std::size_t i = 0; i < 4; ++i) {
    ip.bytes[i] = static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return ip;
}

std::string IpAddress::Text() const {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof text);
  return text;
}

std::uint32_t IpAddress::V4Value() const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace cordon
