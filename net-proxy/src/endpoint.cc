#include "endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace cordon::internal::egress {

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
    endpoint.ip = IpAddress::V6(std::to_array(v6.sin6_addr.s6_addr));
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
