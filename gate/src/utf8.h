// Whether bytes are well-formed UTF-8 (RFC 3629: no surrogates, nothing over-long). Pure.

#ifndef CORDON_GATE_SRC_UTF8_H_
#define CORDON_GATE_SRC_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::internal {

// The length of the well-formed character at the start of `text`; 0 when there is none.
[[nodiscard]] std::size_t Utf8CharLength(std::string_view text);

[[nodiscard]] bool IsValidUtf8(std::string_view text);

// `text` with each byte that is not part of a well-formed character as U+FFFD.
[[nodiscard]] std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_UTF8_H_
