// The head of an HTTP/1 request, read so strictly that no server behind can read it differently
// (RFC 9112; the shapes of request smuggling are refused, not repaired). Pure; safe from any
// thread.

#ifndef CORDON_NET_PROXY_SRC_HTTP_HEAD_H_
#define CORDON_NET_PROXY_SRC_HTTP_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::internal::egress {

struct HttpField {
  std::string_view name;
  std::string_view value;  // Without white space around it.
};

struct HttpHead {
  enum class Body : std::uint8_t { kNone = 0, kLength, kChunked };

  std::string_view method;
  std::string_view target;
  int minor_version = 0;  // HTTP/1.0 or HTTP/1.1
  std::vector<HttpField> fields;
  bool has_host = false;
  std::string_view host;  // Of the one Host field.
  Body body = Body::kNone;
  std::uint64_t content_length = 0;
  bool wants_upgrade = false;  // An Upgrade field that Connection names.
  std::string_view upgrade;
  bool expects_continue = false;
  bool wants_close = false;  // Connection: close, or HTTP/1.0 without keep-alive.
};

struct HttpHeadResult {
  enum class State : std::uint8_t {
    kMalformed = 0,  // `problem` says why.
    kNeedMore,
    kComplete,
  };
  State state = State::kMalformed;
  std::string problem;
  HttpHead head;         // Refers to the bytes that were parsed.
  std::size_t size = 0;  // Of the head, with empty lines before it.
};

// `scanned` is how many bytes an earlier call on a shorter piece has looked at, and is updated; so
// the work for a head that comes byte by byte stays linear. Begin with 0.
[[nodiscard]] HttpHeadResult ParseHttpHead(std::string_view bytes, std::size_t max_bytes,
                                           std::size_t& scanned);

// The host of `HOST` or `HOST:PORT`, lower case, without a trailing dot or brackets; the port 0
// when there is none. False for anything else.
[[nodiscard]] bool SplitHttpAuthority(std::string_view authority, std::string& host,
                                      std::uint16_t& port);

// The authority of a target in absolute form (`http://HOST:PORT/...`), false for other forms. User
// information in it makes `malformed` true.
[[nodiscard]] bool HttpTargetAuthority(std::string_view target, std::string_view& authority,
                                       bool& malformed);

// True when the two are equal but for the case of ASCII letters.
[[nodiscard]] bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// True for a token of RFC 9110 section 5.6.2.
[[nodiscard]] bool IsHttpToken(std::string_view text);

// True when the comma-separated list has `token`.
[[nodiscard]] bool ListHasToken(std::string_view list, std::string_view token);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_HTTP_HEAD_H_
