// The requests of one HTTP/1 connection, one after the other: where each head and each body ends.
// Not thread-safe; no input or output of its own.

#ifndef CORDON_NET_PROXY_SRC_HTTP_REQUESTS_H_
#define CORDON_NET_PROXY_SRC_HTTP_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http_head.h"

namespace cordon::internal::egress {

class HttpRequests {
 public:
  enum class Event : std::uint8_t {
    kMalformed = 0,  // `problem` says why; nothing more can be read.
    kNeedMore,       // Call again with more bytes after the same ones.
    kHead,           // `head`, `size` bytes.
    kBody,           // `size` bytes of a body or its framing.
  };
  struct Step {
    Event event = Event::kMalformed;
    std::size_t size = 0;  // To be removed from the front before the next call.
    HttpHead head;         // Refers to the bytes given.
    std::string problem;
  };

  explicit HttpRequests(std::size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {}

  [[nodiscard]] Step Next(std::string_view bytes);

  // True between two requests.
  [[nodiscard]] bool at_boundary() const { return state_ == State::kHead && scanned_ == 0; }

 private:
  enum class State : std::uint8_t { kHead, kBody, kChunkSize, kChunkEnd, kTrailers };

  Step NextHead(std::string_view bytes);
  Step NextLine(std::string_view bytes);
  Step TakeLine(std::string_view line);
  Step Fail(std::string problem);

  std::size_t max_head_bytes_;
  State state_ = State::kHead;
  std::size_t scanned_ = 0;
  std::uint64_t left_ = 0;  // Of the body or chunk.
  bool chunked_ = false;
  std::size_t trailer_bytes_ = 0;
};

// Waits for what a server says to the first request of a connection: whether it switches protocols.
class HttpSwitch {
 public:
  enum class Answer : std::uint8_t { kNeedMore = 0, kNo, kYes };

  // The server's bytes in order. After kNo or kYes nothing more needs to be given.
  [[nodiscard]] Answer Feed(std::string_view bytes);

 private:
  std::string head_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_HTTP_REQUESTS_H_
