#include "printable_text.h"

#include <cstdint>

#include "absl/strings/str_format.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr char kEscape = '\x1b';

struct ByteRange {
  std::uint8_t low;
  std::uint8_t high;
};

std::uint8_t ByteAt(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

bool IsContinuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// How long the character is that `lead` begins; 0 for a byte that begins none.
std::size_t LengthByLead(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// What may follow the lead byte (Unicode, table 3-7): excludes overlong forms, surrogates and what
// lies beyond U+10FFFF.
ByteRange SecondByte(std::uint8_t lead) {
  switch (lead) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
  }
  return {0x80, 0xBF};
}

struct Sequence {
  std::size_t length;  // Of the character, or of the faulty part.
  bool valid;
};

Sequence NextSequence(std::string_view bytes) {
  const std::uint8_t lead = ByteAt(bytes, 0);
  const std::size_t wanted = LengthByLead(lead);
  if (wanted == 0) return {1, false};
  for (std::size_t i = 1; i < wanted; ++i) {
    const ByteRange range = i == 1 ? SecondByte(lead) : ByteRange{0x80, 0xBF};
    if (i >= bytes.size()) return {i, false};
    if (ByteAt(bytes, i) < range.low || ByteAt(bytes, i) > range.high) return {i, false};
  }
  return {wanted, true};
}

// The length of a CSI sequence (`ESC [` parameters, intermediates, a final byte); 0 when
// incomplete.
std::size_t CsiLength(std::string_view text) {
  for (std::size_t i = 2; i < text.size(); ++i) {
    const std::uint8_t byte = ByteAt(text, i);
    if (byte >= 0x40 && byte <= 0x7E) return i + 1;
    if (byte < 0x20 || byte > 0x3F) return 0;
  }
  return 0;
}

// The length of an OSC sequence (`ESC ]` text, ended by BEL or ESC \); 0 when it does not end on
// its line, since a lone opening must not swallow the rest of the output.
std::size_t OscLength(std::string_view text) {
  for (std::size_t i = 2; i < text.size(); ++i) {
    if (text[i] == '\x07') return i + 1;
    if (text.substr(i).starts_with("\x1b\\")) return i + 2;
    if (static_cast<std::uint8_t>(text[i]) < 0x20) return 0;
  }
  return 0;
}

std::size_t ControlSequenceLength(std::string_view text) {
  if (text.size() < 2 || text[0] != kEscape) return 0;
  if (text[1] == '[') return CsiLength(text);
  if (text[1] == ']') return OscLength(text);
  return 0;
}

bool IsC0OrDelete(char c) {
  return (static_cast<std::uint8_t>(c) < 0x20 && c != '\n' && c != '\t') || c == '\x7f';
}

// U+0080 to U+009F, which some terminals take for control codes: C2 80 to C2 9F.
bool StartsWithC1(std::string_view text) {
  return text.size() >= 2 && ByteAt(text, 0) == 0xC2 && ByteAt(text, 1) < 0xA0;
}

}  // namespace

ValidText ReplaceInvalidUtf8(std::string_view bytes) {
  ValidText result;
  result.text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence next = NextSequence(bytes);
    result.text += next.valid ? bytes.substr(0, next.length) : kReplacement;
    if (!next.valid) ++result.replaced;
    bytes.remove_prefix(next.length);
  }
  return result;
}

PrintableText RemoveTerminalControls(std::string_view utf8) {
  PrintableText result;
  result.text.reserve(utf8.size());
  while (!utf8.empty()) {
    std::size_t consumed = 1;
    if (const std::size_t sequence = ControlSequenceLength(utf8); sequence > 0) {
      consumed = sequence;
      ++result.removed_sequences;
    } else if (utf8[0] == '\r') {
      result.text += '\n';
      consumed = utf8.starts_with("\r\n") ? 2 : 1;
    } else if (IsC0OrDelete(utf8[0])) {
      result.text += absl::StrFormat("\\x%02x", ByteAt(utf8, 0));
      ++result.escaped_controls;
    } else if (StartsWithC1(utf8)) {
      result.text += absl::StrFormat("\\x%02x", ByteAt(utf8, 1));
      consumed = 2;
      ++result.escaped_controls;
    } else {
      result.text += utf8[0];
    }
    utf8.remove_prefix(consumed);
  }
  return result;
}

std::size_t IncompleteSuffix(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const std::uint8_t byte = ByteAt(bytes, bytes.size() - back);
    if (IsContinuation(byte)) continue;
    return LengthByLead(byte) > back ? back : 0;
  }
  return 0;
}

std::size_t ContinuationPrefix(std::string_view bytes) {
  std::size_t count = 0;
  while (count < 3 && count < bytes.size() && IsContinuation(ByteAt(bytes, count))) ++count;
  return count;
}

}  // namespace cordon::internal
