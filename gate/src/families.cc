#include "families.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cordon::internal {
namespace {

std::vector<std::string_view> SplitName(std::string_view name) {
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos) return {name};
  return {name.substr(0, space), name.substr(space + 1)};
}

bool Contains(std::string_view letters, char c) {
  return letters.find(c) != std::string_view::npos;
}

bool Contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

enum class OptionUse : std::uint8_t { kRefused, kAlone, kTakesNextWord };

// `-la`, `-n5`, `-n 5`, `-j4`.
OptionUse UseShortOptions(const Family& family, std::string_view word) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (Contains(family.short_values, word[i])) {
      return i + 1 < word.size() ? OptionUse::kAlone : OptionUse::kTakesNextWord;
    }
    if (Contains(family.short_attached, word[i])) return OptionUse::kAlone;
    if (!Contains(family.short_flags, word[i])) return OptionUse::kRefused;
  }
  return OptionUse::kAlone;
}

OptionUse UseOption(const Family& family, std::string_view word) {
  if (Contains(family.long_flags, word)) return OptionUse::kAlone;
  if (Contains(family.long_values, word)) return OptionUse::kTakesNextWord;
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos && Contains(family.long_values, word.substr(0, equals))) {
    return OptionUse::kAlone;
  }
  if (family.numbers && IsNumber(word.substr(1))) return OptionUse::kAlone;
  if (word.substr(0, 2) == "--") return OptionUse::kRefused;
  return UseShortOptions(family, word);
}

bool IsOption(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

bool HoldsRefusedText(const Family& family, absl::Span<const std::string> arguments) {
  if (family.refused_text.empty()) return false;
  return std::any_of(arguments.begin(), arguments.end(), [&family](std::string_view word) {
    return word.find(family.refused_text) != std::string_view::npos;
  });
}

bool CoversArguments(const Family& family, absl::Span<const std::string> arguments) {
  if (HoldsRefusedText(family, arguments)) return false;
  bool only_operands = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--" && !only_operands) {
      if (family.after_dashes == AfterDashes::kAnything) return true;
      only_operands = family.after_dashes == AfterDashes::kOperands;
      continue;
    }
    if (only_operands || !IsOption(word)) {
      if (!family.operands) return false;
      continue;
    }
    const OptionUse use = UseOption(family, word);
    if (use == OptionUse::kRefused) return false;
    if (use == OptionUse::kTakesNextWord) {
      ++i;
      const bool hides_option = i < arguments.size() && IsOption(arguments[i]);
      // A program that takes the value as optional would read the next word as an option.
      if (i >= arguments.size() || hides_option) return false;
    }
  }
  return true;
}

}  // namespace

const Family* FindFamily(std::string_view name) {
  for (const Family& family : FamilyCatalogue()) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

bool FamilyCovers(std::string_view name, absl::Span<const std::string> words) {
  const std::vector<std::string_view> leading = SplitName(name);
  if (words.size() < leading.size()) return false;
  for (std::size_t i = 0; i < leading.size(); ++i) {
    if (words[i] != leading[i]) return false;
  }
  const absl::Span<const std::string> arguments = words.subspan(leading.size());
  const Family* family = FindFamily(name);
  return family == nullptr ? arguments.empty() : CoversArguments(*family, arguments);
}

}  // namespace cordon::internal
