#include "utf8.h"

#include <algorithm>

namespace cordon::internal {
namespace {

constexpr std::size_t kLongestSequence = 4;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// What a lead byte says: how long its sequence is (0 when it leads none), its own bits, and the
// smallest value that needs this length.
struct Lead {
  std::size_t size;
  char32_t bits;
  char32_t smallest;
};

Lead ReadLead(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if ((byte & 0xe0) == 0xc0) return {2, byte & 0x1fU, 0x80};
  if ((byte & 0xf0) == 0xe0) return {3, byte & 0x0fU, 0x800};
  if ((byte & 0xf8) == 0xf0) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

bool IsScalarValue(char32_t value) {
  return value <= 0x10ffff && !(value >= 0xd800 && value <= 0xdfff);
}

// Whether a sequence that begins shortly before `cut` reaches across it.
bool CutsSequence(std::string_view text, std::size_t cut) {
  const std::size_t reach = std::min(cut, kLongestSequence - 1);
  for (std::size_t back = 1; back <= reach; ++back) {
    const CodePoint point = FirstCodePoint(text.substr(cut - back));
    if (point.valid && point.size > back) return true;
  }
  return false;
}

}  // namespace

CodePoint FirstCodePoint(std::string_view text) {
  const Lead lead = ReadLead(static_cast<unsigned char>(text.front()));
  if (lead.size == 0 || lead.size > text.size()) return {};
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.size; ++i) {
    if (!IsContinuation(text[i])) return {};
    value = (value << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  if (value < lead.smallest || !IsScalarValue(value)) return {};
  return {value, lead.size, true};
}

std::string_view Utf8Prefix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t cut = max_bytes;
  while (CutsSequence(text, cut)) --cut;
  return text.substr(0, cut);
}

std::string_view Utf8Suffix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t cut = text.size() - max_bytes;
  while (cut < text.size() && CutsSequence(text, cut)) ++cut;
  return text.substr(cut);
}

}  // namespace cordon::internal
