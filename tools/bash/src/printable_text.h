// Turning a program's bytes into text that is safe to show: to a model, in JSON, on a terminal.
// Pure; safe from any thread.

#ifndef CORDON_TOOLS_BASH_PRINTABLE_TEXT_H_
#define CORDON_TOOLS_BASH_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::internal {

struct ValidText {
  std::string text;
  std::size_t replaced = 0;  // How many faulty sequences became U+FFFD.
};

// Valid UTF-8 (RFC 3629): each maximal faulty part becomes one U+FFFD, as the Unicode Standard
// (section 3.9, "U+FFFD Substitution of Maximal Subparts") recommends. Nothing else changes.
[[nodiscard]] ValidText ReplaceInvalidUtf8(std::string_view bytes);

struct PrintableText {
  std::string text;
  std::size_t removed_sequences = 0;  // Colours, cursor movement, titles, links.
  std::size_t escaped_controls = 0;   // Shown as `\x07`.
};

// Takes what steers a terminal out of valid UTF-8: complete CSI and OSC sequences (ECMA-48, section
// 5.4 and 8.3.89) are removed; CR LF and a lone CR become a newline; every other control character
// but newline and tab, C1 and DEL included, is shown as `\xNN`.
[[nodiscard]] PrintableText RemoveTerminalControls(std::string_view utf8);

// How many bytes at the end of `bytes` begin a character that does not end there, 0 to 3.
[[nodiscard]] std::size_t IncompleteSuffix(std::string_view bytes);
// How many bytes at the start of `bytes` continue a character that began before it, 0 to 3.
[[nodiscard]] std::size_t ContinuationPrefix(std::string_view bytes);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_PRINTABLE_TEXT_H_
