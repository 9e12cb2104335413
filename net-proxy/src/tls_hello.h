// The server name that a TLS client asks for (RFC 8446 section 4.1.2, RFC 6066 section 3), read
// without taking part in the handshake. Pure; safe from any thread.

#ifndef CORDON_NET_PROXY_SRC_TLS_HELLO_H_
#define CORDON_NET_PROXY_SRC_TLS_HELLO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cordon::internal::egress {

struct ClientHello {
  enum class State : std::uint8_t {
    kMalformed = 0,  // `problem` says why.
    kNeedMore,
    kComplete,
  };
  State state = State::kMalformed;
  std::string problem;
  std::string server_name;  // Lower case; empty when there is none.
  bool is_encrypted =
      false;             // Encrypted ClientHello or the older ESNI; `server_name` is the outer.
  std::size_t size = 0;  // Bytes up to the end of its last record.
};

// Reads a ClientHello from the start of `bytes`, over as many records and fragments as it takes,
// but not beyond `max_bytes`. Anything after the message in its last record is malformed.
[[nodiscard]] ClientHello ParseClientHello(std::string_view bytes, std::size_t max_bytes);

// A fatal alert access_denied(49) in a plaintext record (RFC 8446 sections 5.1 and 6).
inline constexpr std::string_view kTlsAccessDenied("\x15\x03\x03\x00\x02\x02\x31", 7);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_TLS_HELLO_H_
