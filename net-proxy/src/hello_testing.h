// For tests: ClientHellos to measure.

#ifndef CORDON_NET_PROXY_SRC_HELLO_TESTING_H_
#define CORDON_NET_PROXY_SRC_HELLO_TESTING_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::internal::egress {

inline std::string Big(std::size_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = width; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

inline std::string Extension(std::size_t type, std::string_view content) {
  return Big(type, 2) + Big(content.size(), 2) + std::string(content);
}

inline std::string ServerName(std::string_view name) {
  const std::string entry = Big(0, 1) + Big(name.size(), 2) + std::string(name);
  return Extension(0, Big(entry.size(), 2) + entry);
}

// A handshake message with these extensions.
inline std::string HelloMessage(const std::string& extensions) {
  std::string body = Big(0x0303, 2) + std::string(32, 'r') + Big(0, 1) + Big(2, 2) +
                     Big(0x1301, 2) + Big(1, 1) + Big(0, 1);
  body += Big(extensions.size(), 2) + extensions;
  return Big(1, 1) + Big(body.size(), 3) + body;
}

// `message` in handshake records of at most `piece` bytes.
inline std::string Records(std::string_view message, std::size_t piece = 16384) {
  std::string out;
  while (!message.empty()) {
    const std::string_view part = message.substr(0, std::min(piece, message.size()));
    out += std::string("\x16\x03\x01", 3) + Big(part.size(), 2) + std::string(part);
    message.remove_prefix(part.size());
  }
  return out;
}

inline std::string HelloFor(std::string_view name) {
  return Records(HelloMessage(Extension(43, std::string("\2\3\4", 3)) + ServerName(name)));
}

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_HELLO_TESTING_H_
