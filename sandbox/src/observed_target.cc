#include "observed_target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace cordon::internal {
namespace {

ObservedAddress OfVersion4(in_addr address, in_port_t port) {
  const std::uint32_t host = ntohl(address.s_addr);
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address, text, sizeof text);
  ObservedAddress result;
  result.kind = port == 0 ? ObservedAddress::Kind::kNone : ObservedAddress::Kind::kInternet;
  result.text = absl::StrCat(text, ":", ntohs(port));
  result.host = text;
  result.port = ntohs(port);
  constexpr std::uint32_t kProxyNet = 0xc6120000;  // 198.18.0.0/15
  constexpr std::uint32_t kOwn = 0xc0000001;       // kSandboxAddress of cordon/sdk/egress.h
  result.is_inside = host == INADDR_ANY || host == kOwn || host >> 24 == IN_LOOPBACKNET ||
                     (host & 0xfffe0000) == kProxyNet;
  return result;
}

ObservedAddress OfVersion6(const in6_addr& address, in_port_t port) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr inner = {};
    std::memcpy(&inner, address.s6_addr + 12, sizeof inner);
    ObservedAddress result = OfVersion4(inner, port);
    result.is_v6 = result.is_mapped = true;
    return result;
  }
  char text[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, &address, text, sizeof text);
  ObservedAddress result;
  result.kind = port == 0 ? ObservedAddress::Kind::kNone : ObservedAddress::Kind::kInternet;
  result.text = absl::StrCat("[", text, "]:", ntohs(port));
  result.host = text;
  result.port = ntohs(port);
  result.is_v6 = true;
  result.is_inside = IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address);
  return result;
}

// Up to its end or the first NUL (unix(7)).
ObservedAddress OfPath(std::string_view bytes) {
  ObservedAddress result;
  result.text = std::string(bytes.substr(0, bytes.find('\0')));
  if (!result.text.empty()) result.kind = ObservedAddress::Kind::kPath;
  return result;
}

template <typename Address>
bool Fill(std::string_view bytes, std::size_t least, Address* address) {
  if (bytes.size() < least) return false;
  std::memcpy(address, bytes.data(), std::min(bytes.size(), sizeof *address));
  return true;
}

}  // namespace

ObservedAddress ParseObservedAddress(std::string_view bytes) {
  sa_family_t family = AF_UNSPEC;
  if (!Fill(bytes, sizeof family, &family)) return {};
  if (family == AF_UNIX) return OfPath(bytes.substr(offsetof(sockaddr_un, sun_path)));
  if (sockaddr_in address = {}; family == AF_INET && Fill(bytes, sizeof address, &address)) {
    return OfVersion4(address.sin_addr, address.sin_port);
  }
  constexpr std::size_t kLeast = offsetof(sockaddr_in6, sin6_scope_id);
  if (sockaddr_in6 address = {}; family == AF_INET6 && Fill(bytes, kLeast, &address)) {
    return OfVersion6(address.sin6_addr, address.sin6_port);
  }
  return {};
}

ObservedAddress ReadObservedAddress(const Caller& caller, std::uint64_t address,
                                    std::uint64_t size) {
  char bytes[sizeof(sockaddr_storage)];
  size = std::min<std::uint64_t>(size, sizeof bytes);
  if (size == 0 || !caller.Read(address, bytes, size) || !caller.IsWaiting()) return {};
  return ParseObservedAddress({bytes, size});
}

}  // namespace cordon::internal
