#include "utf8.h"

#include <cstdint>

namespace cordon::internal {
namespace {

bool InRange(unsigned char byte, unsigned char low, unsigned char high) {
  return byte >= low && byte <= high;
}

}  // namespace

// The table of RFC 3629, section 4.
std::size_t Utf8CharLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto at = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : std::uint8_t{0};
  };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (InRange(lead, 0xC2, 0xDF)) return InRange(at(1), 0x80, 0xBF) ? 2 : 0;
  if (InRange(lead, 0xE0, 0xEF)) {
    const unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : 0xBF;
    return InRange(at(1), low, high) && InRange(at(2), 0x80, 0xBF) ? 3 : 0;
  }
  if (InRange(lead, 0xF0, 0xF4)) {
    const unsigned char low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xF4 ? 0x8F : 0xBF;
    const bool tail = InRange(at(2), 0x80, 0xBF) && InRange(at(3), 0x80, 0xBF);
    return InRange(at(1), low, high) && tail ? 4 : 0;
  }
  return 0;
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8CharLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8CharLength(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace cordon::internal
