#include "socks5.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "endpoint.h"

namespace cordon::internal::egress {
namespace {

constexpr std::uint8_t kVersion = 5;
constexpr std::uint8_t kPasswordVersion = 1;

std::size_t ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

IpAddress AddressAt(std::string_view bytes, std::size_t at, bool is_v6) {
  IpAddress address;
  address.is_v6 = is_v6;
  std::memcpy(address.bytes.data(), bytes.data() + at, is_v6 ? 16 : 4);
  return address;
}

}  // namespace

SocksGreeting ParseSocksGreeting(std::string_view bytes) {
  SocksGreeting greeting;
  if (!bytes.empty() && ByteAt(bytes, 0) != kVersion) return greeting;
  greeting.state = SocksState::kNeedMore;
  if (bytes.size() < 2) return greeting;
  greeting.size = 2 + ByteAt(bytes, 1);
  if (bytes.size() < greeting.size) return greeting;
  for (const char method : bytes.substr(2, greeting.size - 2)) {
    if (method == 0) greeting.offers_none = true;
    if (method == 2) greeting.offers_password = true;
  }
  greeting.state = SocksState::kComplete;
  return greeting;
}

SocksPassword ParseSocksPassword(std::string_view bytes) {
  SocksPassword result;
  if (!bytes.empty() && ByteAt(bytes, 0) != kPasswordVersion) return result;
  result.state = SocksState::kNeedMore;
  if (bytes.size() < 2) return result;
  const std::size_t user = ByteAt(bytes, 1);
  if (bytes.size() < 3 + user) return result;
  const std::size_t password = ByteAt(bytes, 2 + user);
  if (bytes.size() < 3 + user + password) return result;
  result.user = bytes.substr(2, user);
  result.password = bytes.substr(3 + user, password);
  result.size = 3 + user + password;
  result.state = SocksState::kComplete;
  return result;
}

SocksRequest ParseSocksRequest(std::string_view bytes) {
  SocksRequest request;
  const bool malformed = (!bytes.empty() && ByteAt(bytes, 0) != kVersion) ||
                         (bytes.size() >= 3 && ByteAt(bytes, 2) != 0);
  if (malformed) return request;
  request.state = SocksState::kNeedMore;
  if (bytes.size() < 5) return request;
  request.command = static_cast<std::uint8_t>(ByteAt(bytes, 1));
  const std::size_t type = ByteAt(bytes, 3);
  std::size_t start = 4;
  std::size_t length = 0;
  if (type == 1) {
    length = 4;
  } else if (type == 4) {
    length = 16;
  } else if (type == 3) {
    start = 5;
    length = ByteAt(bytes, 4);
  } else {
    request.known_address = false;
    request.state = SocksState::kComplete;
    return request;
  }
  if (bytes.size() < start + length + 2) return request;
  request.size = start + length + 2;
  request.state = SocksState::kComplete;
  const auto port = static_cast<std::uint16_t>(ByteAt(bytes, start + length) << 8 |
                                               ByteAt(bytes, start + length + 1));
  if (type != 3) {
    request.target = Endpoint{AddressAt(bytes, start, type == 4), port}.Text();
    return request;
  }
  const std::string_view name = bytes.substr(start, length);
  // Some clients write an IPv6 address where a name belongs.
  const bool is_v6 = name.find(':') != std::string_view::npos;
  request.target = is_v6 ? absl::StrCat("[", std::string(name), "]:", port)
                         : absl::StrCat(std::string(name), ":", port);
  return request;
}

std::string SocksReplyBytes(SocksReply reply) {
  std::string bytes("\5\0\0\1\0\0\0\0\0\0", 10);
  bytes[1] = static_cast<char>(reply);
  return bytes;
}

}  // namespace cordon::internal::egress
