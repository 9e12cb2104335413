#include "sed_script.h"

#include <algorithm>

namespace cordon::internal {
namespace {

bool TakeDigits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Up to the next `/`, without anything that could hide one.
bool TakeToSlash(std::string_view& text) {
  const std::size_t end = text.find_first_of("/\\\n[");
  if (end == std::string_view::npos || text[end] != '/') return false;
  text.remove_prefix(end + 1);
  return true;
}

// A line number, `$` or `/pattern/`. Nothing at all is no address, and no fault.
bool TakeSedAddress(std::string_view& text, bool& is_there) {
  is_there = TakeChar(text, '$') || TakeDigits(text);
  if (is_there || !TakeChar(text, '/')) return true;
  is_there = true;
  return TakeToSlash(text);
}

bool TakeSedCommand(std::string_view& text) {
  if (TakeChar(text, 'p') || TakeChar(text, 'd') || TakeChar(text, '=') || TakeChar(text, 'q')) {
    return true;
  }
  if (!TakeChar(text, 's') || !TakeChar(text, '/')) return false;
  if (!TakeToSlash(text) || !TakeToSlash(text)) return false;
  while (TakeChar(text, 'g') || TakeChar(text, 'p') || TakeChar(text, 'I')) continue;
  return true;
}

}  // namespace

bool IsHarmlessSedScript(std::string_view script) {
  if (script.empty()) return false;
  while (true) {
    bool first = false;
    bool second = false;
    if (!TakeSedAddress(script, first)) return false;
    if (first && TakeChar(script, ',')) {
      (void)TakeChar(script, '+');
      if (!TakeSedAddress(script, second) || !second) return false;
    }
    if (!TakeSedCommand(script)) return false;
    if (script.empty()) return true;
    if (!TakeChar(script, ';')) return false;
    while (TakeChar(script, ' ')) continue;
  }
}

}  // namespace cordon::internal
