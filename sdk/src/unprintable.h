// Which characters could make a text look like another one.

#ifndef CORDON_SDK_SRC_UNPRINTABLE_H_
#define CORDON_SDK_SRC_UNPRINTABLE_H_

namespace cordon::internal {

// True for code points that a person cannot see, cannot tell from a blank or from nothing, or that
// move, hide or overlay their neighbours: controls, blanks other than U+0020, line and paragraph
// separators, bidirectional and other format characters, fillers, variation selectors, general
// combining marks and joining Hangul (which spell what one letter spells), the three characters
// that are canonically an ASCII one, tags, private use, noncharacters, replacement characters and
// planes without any character. Source: Unicode 15, general categories Cc, Cf, Co, Zl, Zp, Zs and
// the property Default_Ignorable_Code_Point. Letters of every script, with their vowel signs, are
// printable; letters of two scripts that look alike are not told apart.
[[nodiscard]] bool IsUnprintable(char32_t code_point);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_UNPRINTABLE_H_
