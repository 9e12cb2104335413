// What a SOCKS 5 client says before its bytes are relayed (RFC 1928, RFC 1929). Pure; safe from any
// thread.

#ifndef CORDON_NET_PROXY_SRC_SOCKS5_H_
#define CORDON_NET_PROXY_SRC_SOCKS5_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::internal::egress {

enum class SocksState : std::uint8_t { kMalformed = 0, kNeedMore, kComplete };

struct SocksGreeting {
  SocksState state = SocksState::kMalformed;
  bool offers_none = false;      // Method 0: no authentication.
  bool offers_password = false;  // Method 2.
  std::size_t size = 0;
};

struct SocksPassword {
  SocksState state = SocksState::kMalformed;
  std::string_view user;  // Of the bytes that were parsed.
  std::string_view password;
  std::size_t size = 0;
};

struct SocksRequest {
  SocksState state = SocksState::kMalformed;
  std::uint8_t command = 0;  // 1: CONNECT.
  bool known_address = true;
  std::string target;  // `host:port` for ParseNetworkTarget, IPv6 in brackets.
  std::size_t size = 0;
};

inline constexpr std::uint8_t kSocksConnect = 1;

enum class SocksReply : std::uint8_t {
  kSucceeded = 0,
  kFailed = 1,
  kNotAllowed = 2,
  kNetworkUnreachable = 3,
  kHostUnreachable = 4,
  kRefused = 5,
  kTimedOut = 6,
  kCommandNotSupported = 7,
  kAddressNotSupported = 8,
};

[[nodiscard]] SocksGreeting ParseSocksGreeting(std::string_view bytes);
[[nodiscard]] SocksPassword ParseSocksPassword(std::string_view bytes);
[[nodiscard]] SocksRequest ParseSocksRequest(std::string_view bytes);
[[nodiscard]] std::string SocksReplyBytes(SocksReply reply);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_SOCKS5_H_
