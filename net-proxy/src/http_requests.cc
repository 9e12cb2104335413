#include "http_requests.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace cordon::internal::egress {
namespace {

constexpr std::size_t kMaxChunkLineBytes = 256;
constexpr std::size_t kMaxResponseHeadBytes = std::size_t{64} * 1024;

std::optional<std::uint64_t> HexNumber(std::string_view text) {
  if (text.empty() || text.size() > 15) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

}  // namespace

HttpRequests::Step HttpRequests::Fail(std::string problem) {
  Step step;
  step.problem = std::move(problem);
  return step;
}

HttpRequests::Step HttpRequests::Next(std::string_view bytes) {
  Step step;
  step.event = Event::kNeedMore;
  if (state_ == State::kHead) return NextHead(bytes);
  if (bytes.empty()) return step;
  if (state_ != State::kBody) return NextLine(bytes);
  step.event = Event::kBody;
  step.size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  left_ -= step.size;
  if (left_ == 0) state_ = chunked_ ? State::kChunkEnd : State::kHead;
  return step;
}

HttpRequests::Step HttpRequests::NextHead(std::string_view bytes) {
  HttpHeadResult result = ParseHttpHead(bytes, max_head_bytes_, scanned_);
  if (result.state == HttpHeadResult::State::kMalformed) return Fail(std::move(result.problem));
  Step step;
  step.event = Event::kNeedMore;
  if (result.state == HttpHeadResult::State::kNeedMore) return step;
  step.event = Event::kHead;
  step.size = result.size;
  step.head = std::move(result.head);
  scanned_ = 0;
  chunked_ = step.head.body == HttpHead::Body::kChunked;
  left_ = step.head.content_length;
  if (chunked_) {
    state_ = State::kChunkSize;
    trailer_bytes_ = 0;
  } else if (left_ > 0) {
    state_ = State::kBody;
  }
  return step;
}

HttpRequests::Step HttpRequests::NextLine(std::string_view bytes) {
  const std::size_t limit = state_ == State::kTrailers ? max_head_bytes_ : kMaxChunkLineBytes;
  const std::size_t end = bytes.find('\n');
  Step step;
  step.event = Event::kNeedMore;
  // The same for a line that comes whole and one that comes byte by byte.
  if (std::min(end, bytes.size()) >= limit) return Fail("a line of a chunked body is too long");
  if (end == std::string_view::npos) return step;
  if (end == 0 || bytes[end - 1] != '\r') return Fail("a chunked body has a lone LF");
  step = TakeLine(bytes.substr(0, end - 1));
  step.size = end + 1;
  return step;
}

HttpRequests::Step HttpRequests::TakeLine(std::string_view line) {
  Step step;
  step.event = Event::kBody;
  if (HasControlCharacter(line)) return Fail("a chunked body has a control character in a line");
  if (state_ == State::kChunkEnd) {
    if (!line.empty()) return Fail("a chunk is longer than it says");
    state_ = State::kChunkSize;
    return step;
  }
  if (state_ == State::kChunkSize) {
    const std::optional<std::uint64_t> size = HexNumber(line.substr(0, line.find(';')));
    if (!size.has_value()) return Fail("the size of a chunk is malformed");
    left_ = *size;
    state_ = left_ == 0 ? State::kTrailers : State::kBody;
    return step;
  }
  trailer_bytes_ += line.size();
  if (trailer_bytes_ > max_head_bytes_) return Fail("the trailers are too long");
  if (line.empty()) {
    state_ = State::kHead;
    return step;
  }
  const std::string_view name = line.substr(0, line.find(':'));
  if (name.size() == line.size() || !IsHttpToken(name)) return Fail("a trailer is malformed");
  for (const std::string_view framing : {"host", "content-length", "transfer-encoding"}) {
    if (EqualsIgnoringCase(name, framing)) return Fail("a trailer that belongs into the head");
  }
  return step;
}

HttpSwitch::Answer HttpSwitch::Feed(std::string_view bytes) {
  head_ += bytes;
  while (true) {
    const std::size_t end = head_.find("\r\n\r\n");
    const bool is_http =
        std::string_view("HTTP/1.").substr(0, head_.size()) == std::string_view(head_).substr(0, 7);
    if (!is_http || std::min(end, head_.size()) > kMaxResponseHeadBytes) return Answer::kNo;
    if (end == std::string::npos) return Answer::kNeedMore;
    // "HTTP/1.1 101 ...": of the interim answers only 101 is a last one.
    const std::string_view code = std::string_view(head_).substr(8, 4);
    if (code == " 101") return Answer::kYes;
    if (!code.starts_with(" 1")) return Answer::kNo;
    head_.erase(0, end + 4);
    if (head_.empty()) return Answer::kNeedMore;
  }
}

}  // namespace cordon::internal::egress
