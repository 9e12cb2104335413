#include "ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace cordon::internal::egress {
namespace {

IpAddress FromV6(const in6_addr& address) {
  IpAddress ip;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::memcpy(ip.bytes.data(), address.s6_addr + 12, 4);
    return ip;
  }
  ip.is_v6 = true;
  std::memcpy(ip.bytes.data(), address.s6_addr, 16);
  return ip;
}

}  // namespace

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::string copy(text);
  if (copy.find('\0') != std::string::npos) return std::nullopt;
  in_addr v4{};
  if (inet_pton(AF_INET, copy.c_str(), &v4) == 1) return V4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (inet_pton(AF_INET6, copy.c_str(), &v6) == 1) return FromV6(v6);
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

std::string Endpoint::Text() const {
  return ip.is_v6 ? absl::StrCat("[", ip.Text(), "]:", port) : absl::StrCat(ip.Text(), ":", port);
}

SocketAddress ToSocketAddress(const Endpoint& endpoint) {
  SocketAddress address;
  if (endpoint.ip.is_v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    std::memcpy(v6.sin6_addr.s6_addr, endpoint.ip.bytes.data(), 16);
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, endpoint.ip.bytes.data(), 4);
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.size = sizeof v4;
  }
  return address;
}

Endpoint FromSocketAddress(const SocketAddress& address) {
  Endpoint endpoint;
  if (address.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address.storage, sizeof v6);
    endpoint.ip = FromV6(v6.sin6_addr);
    endpoint.port = ntohs(v6.sin6_port);
  } else if (address.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address.storage, sizeof v4);
    endpoint.ip = IpAddress::V4(ntohl(v4.sin_addr.s_addr));
    endpoint.port = ntohs(v4.sin_port);
  }
  return endpoint;
}

}  // namespace cordon::internal::egress
