#include "capture.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxCharacterBytes = 4;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

bool AllAscii(std::uint64_t eight_bytes) { return (eight_bytes & 0x8080808080808080U) == 0; }

// Bytes at the end of `text` that begin a character which is not complete.
std::size_t PartialAtEnd(std::string_view text) {
  const std::size_t reach = std::min(text.size(), kMaxCharacterBytes);
  for (std::size_t back = 1; back <= reach; ++back) {
    const std::string_view last = text.substr(text.size() - back);
    if (IsContinuation(last.front())) continue;
    Utf8Validator alone;
    alone.Add(last);
    return alone.EndsWithin() ? back : 0;
  }
  return 0;
}

// Bytes at the beginning of `text` that end a character whose first byte is missing; none where
// there are more of the kind than a character has.
std::size_t PartialAtStart(std::string_view text) {
  const std::size_t reach = std::min(text.size(), kMaxCharacterBytes);
  std::size_t count = 0;
  while (count < reach && IsContinuation(text[count])) ++count;
  return count < kMaxCharacterBytes ? count : 0;
}

}  // namespace

void Utf8Validator::Add(std::string_view bytes) {
  std::size_t i = 0;
  while (valid_ && i < bytes.size()) {
    // Output is mostly ASCII: eight bytes at a time.
    if (pending_ == 0 && bytes.size() - i >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, sizeof word);
      if (AllAscii(word)) {
        i += sizeof word;
        continue;
      }
    }
    AddByte(static_cast<unsigned char>(bytes[i]));
    ++i;
  }
}

// The ranges are those of table 3-7 of the Unicode standard.
void Utf8Validator::AddByte(unsigned char byte) {
  if (pending_ > 0) {
    valid_ = byte >= low_ && byte <= high_;
    low_ = 0x80;
    high_ = 0xBF;
    --pending_;
    return;
  }
  if (byte < 0x80) return;
  if (byte < 0xC2 || byte > 0xF4) {
    valid_ = false;
    return;
  }
  pending_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  if (byte == 0xE0) low_ = 0xA0;
  if (byte == 0xED) high_ = 0x9F;
  if (byte == 0xF0) low_ = 0x90;
  if (byte == 0xF4) high_ = 0x8F;
}

void OutputCapture::Count(std::string_view bytes) {
  total_bytes_ += bytes.size();
  total_lines_ += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  utf8_.Add(bytes);
}

void OutputCapture::Discard(std::string_view bytes) {
  Count(bytes);
  discarded_bytes_ += bytes.size();
}

void OutputCapture::Add(std::string_view bytes) {
  Count(bytes);
  const std::size_t for_head = std::min(bytes.size(), head_bytes_ - head_.size());
  head_.append(bytes.substr(0, for_head));
  AddToTail(bytes.substr(for_head));
}

void OutputCapture::AddToTail(std::string_view bytes) {
  if (bytes.size() >= tail_bytes_) {
    ring_.assign(bytes.substr(bytes.size() - tail_bytes_));
    start_ = 0;
    return;
  }
  const std::size_t room = std::min(bytes.size(), tail_bytes_ - ring_.size());
  ring_.append(bytes.substr(0, room));
  bytes.remove_prefix(room);
  while (!bytes.empty()) {
    const std::size_t run = std::min(bytes.size(), ring_.size() - start_);
    ring_.replace(start_, run, bytes.substr(0, run));
    start_ = (start_ + run) % ring_.size();
    bytes.remove_prefix(run);
  }
}

CapturedOutput OutputCapture::Finish() && {
  CapturedOutput output;
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(start_), ring_.end());
  output.head = std::move(head_);
  output.tail = std::move(ring_);
  output.total_bytes = total_bytes_;
  output.total_lines = total_lines_;
  output.valid_utf8 = utf8_.Valid();
  const bool gap = output.head.size() + output.tail.size() < total_bytes_ - discarded_bytes_;
  const bool is_cut_off = discarded_bytes_ > 0;
  if (gap || (is_cut_off && output.tail.empty())) {
    output.head.resize(output.head.size() - PartialAtEnd(output.head));
  }
  if (gap) output.tail.erase(0, PartialAtStart(output.tail));
  if (is_cut_off) output.tail.resize(output.tail.size() - PartialAtEnd(output.tail));
  output.omitted_bytes = total_bytes_ - output.head.size() - output.tail.size();
  return output;
}

}  // namespace cordon::internal
