// Reading UTF-8 from bytes that may be anything (RFC 3629).

#ifndef CORDON_SDK_SRC_UTF8_H_
#define CORDON_SDK_SRC_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::internal {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 1;  // In bytes; 1 for a byte that starts no valid sequence.
  bool valid = false;
};

// The first code point of `text`, which is not empty. Overlong forms, surrogates, values beyond
// U+10FFFF and sequences that are cut short are not valid.
[[nodiscard]] CodePoint FirstCodePoint(std::string_view text);

// The longest prefix, or suffix, of `text` that has at most `max_bytes` and does not cut a
// sequence.
[[nodiscard]] std::string_view Utf8Prefix(std::string_view text, std::size_t max_bytes);
[[nodiscard]] std::string_view Utf8Suffix(std::string_view text, std::size_t max_bytes);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_UTF8_H_
