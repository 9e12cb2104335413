#include "unprintable.h"

#include <algorithm>
#include <iterator>

namespace cordon::internal {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Sorted; both ends belong to the range.
constexpr Range kUnprintable[] = {
    {0x0000, 0x001f},     // C0 controls.
    {0x007f, 0x00a0},     // DEL, C1 controls, no-break space.
    {0x00ad, 0x00ad},     // Soft hyphen.
    {0x0300, 0x036f},     // Combining diacritical marks, among them the grapheme joiner.
    {0x037e, 0x037e},     // Greek question mark, drawn as a semicolon.
    {0x0483, 0x0489},     // Combining Cyrillic marks.
    {0x0600, 0x0605},     // Arabic number signs, which reach under what follows.
    {0x061c, 0x061c},     // Arabic letter mark.
    {0x06dd, 0x06dd},     // End of ayah.
    {0x070f, 0x070f},     // Syriac abbreviation mark.
    {0x0890, 0x0891},     // Arabic marks above.
    {0x08e2, 0x08e2},     // Disputed end of ayah.
    {0x115f, 0x11ff},     // Hangul fillers, vowels and finals that join a letter before them.
    {0x1680, 0x1680},     // Ogham space.
    {0x17b4, 0x17b5},     // Khmer inherent vowels.
    {0x180b, 0x180f},     // Mongolian variation selectors and vowel separator.
    {0x1ab0, 0x1aff},     // Combining diacritical marks, extended.
    {0x1dc0, 0x1dff},     // Combining diacritical marks, supplement.
    {0x1fef, 0x1fef},     // Greek varia, drawn as a grave accent.
    {0x2000, 0x200f},     // Blanks, zero-width characters, direction marks.
    {0x2028, 0x202f},     // Separators, bidirectional embeddings and overrides, narrow blank.
    {0x205f, 0x206f},     // Blank, invisible operators, isolates, deprecated format characters.
    {0x20d0, 0x20ff},     // Combining marks for symbols.
    {0x212a, 0x212a},     // Kelvin sign, drawn as a K.
    {0x2800, 0x2800},     // Blank Braille pattern.
    {0x3000, 0x3000},     // Ideographic space.
    {0x302a, 0x302f},     // Ideographic and Hangul tone marks.
    {0x3099, 0x309a},     // Combining kana voicing marks.
    {0x3164, 0x3164},     // Hangul filler.
    {0xd7b0, 0xf8ff},     // More joining Hangul, surrogates, private use.
    {0xfdd0, 0xfdef},     // Noncharacters.
    {0xfe00, 0xfe0f},     // Variation selectors.
    {0xfe20, 0xfe2f},     // Combining half marks.
    {0xfeff, 0xfeff},     // Byte order mark.
    {0xffa0, 0xffa0},     // Halfwidth Hangul filler.
    {0xfff0, 0xffff},     // Specials: annotations, object replacement, replacement character.
    {0x110bd, 0x110bd},   // Kaithi number sign.
    {0x110cd, 0x110cd},   // Kaithi number sign above.
    {0x13430, 0x1345f},   // Egyptian hieroglyph format controls.
    {0x16fe4, 0x16fe4},   // Khitan filler.
    {0x1bca0, 0x1bca3},   // Shorthand format controls.
    {0x1d159, 0x1d159},   // Musical null notehead.
    {0x1d165, 0x1d169},   // Combining musical stems.
    {0x1d16d, 0x1d182},   // Combining musical marks and format characters.
    {0x1fffe, 0x1ffff},   // Noncharacters.
    {0x2fffe, 0x2ffff},   // Noncharacters.
    {0x3fffe, 0x10ffff},  // Noncharacters, empty planes, tags, variation selectors, private use.
};

constexpr bool IsSorted() {
  for (std::size_t i = 0; i < std::size(kUnprintable); ++i) {
    if (kUnprintable[i].first > kUnprintable[i].last) return false;
    if (i > 0 && kUnprintable[i - 1].last >= kUnprintable[i].first) return false;
  }
  return true;
}
static_assert(IsSorted());

}  // namespace

bool IsUnprintable(char32_t code_point) {
  const auto* const after =
      std::upper_bound(std::begin(kUnprintable), std::end(kUnprintable), code_point,
                       [](char32_t value, const Range& range) { return value < range.first; });
  return after != std::begin(kUnprintable) && code_point <= std::prev(after)->last;
}

}  // namespace cordon::internal
