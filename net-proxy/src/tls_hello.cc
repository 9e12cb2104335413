#include "tls_hello.h"

#include <algorithm>
#include <utility>

namespace cordon::internal::egress {
namespace {

constexpr std::uint8_t kRecordHandshake = 22;
constexpr std::uint8_t kMessageClientHello = 1;
constexpr std::size_t kRecordHeaderBytes = 5;
constexpr std::size_t kMessageHeaderBytes = 4;
constexpr std::size_t kMaxRecordBytes = 16384;
constexpr std::uint16_t kExtensionServerName = 0;
constexpr std::uint16_t kExtensionEncryptedHello = 0xfe0d;  // RFC 9849
constexpr std::uint16_t kExtensionEsni = 0xffce;            // Its early drafts.

// Takes big-endian numbers and vectors off the front; once something is missing, all is.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::size_t Number(std::size_t width) {
    std::size_t value = 0;
    for (const char c : Bytes(width)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  std::string_view Bytes(std::size_t count) {
    if (count > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  // A vector behind its length of `width` bytes.
  std::string_view Vector(std::size_t width) { return Bytes(Number(width)); }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

ClientHello Malformed(std::string problem) {
  ClientHello hello;
  hello.problem = std::move(problem);
  return hello;
}

ClientHello NeedMore() {
  ClientHello hello;
  hello.state = ClientHello::State::kNeedMore;
  return hello;
}

// Exactly one name of type host_name; anything else could be read differently by the server.
bool ReadServerName(std::string_view extension, std::string& name) {
  Reader reader(extension);
  Reader list(reader.Vector(2));
  if (reader.failed() || !reader.empty()) return false;
  const std::size_t type = list.Number(1);
  name = list.Vector(2);
  if (list.failed() || !list.empty() || type != 0 || name.empty()) return false;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return true;
}

ClientHello ParseBody(std::string_view body) {
  Reader reader(body);
  reader.Bytes(2 + 32);  // legacy_version, random
  reader.Vector(1);      // legacy_session_id
  reader.Vector(2);      // cipher_suites
  reader.Vector(1);      // legacy_compression_methods
  ClientHello hello;
  hello.state = ClientHello::State::kComplete;
  if (!reader.failed() && reader.empty()) return hello;  // Before there were extensions.
  Reader extensions(reader.Vector(2));
  if (reader.failed() || !reader.empty()) return Malformed("the ClientHello is malformed");
  while (!extensions.empty()) {
    const std::size_t type = extensions.Number(2);
    const std::string_view content = extensions.Vector(2);
    if (extensions.failed()) return Malformed("an extension of the ClientHello is malformed");
    if (type == kExtensionEncryptedHello || type == kExtensionEsni) hello.is_encrypted = true;
    if (type != kExtensionServerName) continue;
    if (!hello.server_name.empty()) return Malformed("the ClientHello has two server names");
    if (!ReadServerName(content, hello.server_name)) {
      return Malformed("the server name of the ClientHello is malformed");
    }
  }
  return hello;
}

}  // namespace

ClientHello ParseClientHello(std::string_view bytes, std::size_t max_bytes) {
  std::string message;
  std::size_t at = 0;
  while (bytes.size() - at >= kRecordHeaderBytes) {
    Reader header(bytes.substr(at, kRecordHeaderBytes));
    const std::size_t type = header.Number(1);
    const std::size_t major = header.Number(1);
    header.Number(1);
    const std::size_t length = header.Number(2);
    if (type != kRecordHandshake || major != 3) return Malformed("the ClientHello is interrupted");
    if (length == 0 || length > kMaxRecordBytes) return Malformed("a TLS record has a bad length");
    if (at + kRecordHeaderBytes + length > max_bytes)
      return Malformed("the ClientHello is too long");
    if (bytes.size() - at - kRecordHeaderBytes < length) return NeedMore();
    message += bytes.substr(at + kRecordHeaderBytes, length);
    at += kRecordHeaderBytes + length;

    if (static_cast<std::uint8_t>(message[0]) != kMessageClientHello) {
      return Malformed("the first TLS message is no ClientHello");
    }
    if (message.size() < kMessageHeaderBytes) continue;
    const std::size_t body = Reader(std::string_view(message).substr(1)).Number(3);
    if (body > max_bytes) return Malformed("the ClientHello is too long");
    if (message.size() < kMessageHeaderBytes + body) continue;
    if (message.size() > kMessageHeaderBytes + body) {
      return Malformed("something follows the ClientHello in its record");
    }
    ClientHello hello = ParseBody(std::string_view(message).substr(kMessageHeaderBytes));
    hello.size = at;
    return hello;
  }
  return NeedMore();
}

}  // namespace cordon::internal::egress
