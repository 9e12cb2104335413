// Keeps the beginning and the end of an output stream of any length in bounded memory, and counts
// all of it. Used by one thread.

#ifndef CORDON_SANDBOX_SRC_CAPTURE_H_
#define CORDON_SANDBOX_SRC_CAPTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cordon/sdk/executor.h"

namespace cordon::internal {

// Decides whether bytes that arrive in pieces are UTF-8 (RFC 3629: no surrogates, no over-long
// forms, nothing above U+10FFFF).
class Utf8Validator {
 public:
  void Add(std::string_view bytes);
  // False also when the text ends within a character.
  [[nodiscard]] bool Valid() const { return valid_ && pending_ == 0; }
  // Whether it ends within a character, and is valid but for that.
  [[nodiscard]] bool EndsWithin() const { return valid_ && pending_ > 0; }

 private:
  void AddByte(unsigned char byte);

  bool valid_ = true;
  int pending_ = 0;  // Continuation bytes that the current character still needs.
  unsigned char low_ = 0x80;
  unsigned char high_ = 0xBF;  // Bounds of the next one; only the first can be narrower.
};

class OutputCapture {
 public:
  OutputCapture(std::size_t head_bytes, std::size_t tail_bytes)
      : head_bytes_(head_bytes), tail_bytes_(tail_bytes) {}

  // Counts `bytes` and keeps what there is room for.
  void Add(std::string_view bytes);

  // Counts `bytes` without keeping them: what came after an output limit.
  void Discard(std::string_view bytes);

  // What was kept. Where something was left out, the cut is moved to the nearest whole characters.
  [[nodiscard]] CapturedOutput Finish() &&;

 private:
  void Count(std::string_view bytes);
  void AddToTail(std::string_view bytes);

  std::size_t head_bytes_;
  std::size_t tail_bytes_;
  std::string head_;
  std::string ring_;       // The last bytes after the head; a ring once it is full.
  std::size_t start_ = 0;  // Of the oldest byte in a full ring.
  std::uint64_t total_bytes_ = 0;
  std::uint64_t discarded_bytes_ = 0;
  std::uint64_t total_lines_ = 0;
  Utf8Validator utf8_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_CAPTURE_H_
