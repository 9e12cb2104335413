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

enum class OptionUse : std::uint8_t { kRefused, kAlone, kTakesNextWord, kTakesNextFolder };

// `-la`, `-n5`, `-n 5`, `-j4`, `-C sub`.
OptionUse UseShortOptions(const Family& family, std::string_view word) {
  for (std::size_t i = 1; i < word.size(); ++i) {
    const bool last = i + 1 == word.size();
    if (Contains(family.short_values, word[i])) {
      return last ? OptionUse::kTakesNextWord : OptionUse::kAlone;
    }
    if (Contains(family.short_folders, word[i])) {
      if (last) return OptionUse::kTakesNextFolder;
      return IsBelow(word.substr(i + 1)) ? OptionUse::kAlone : OptionUse::kRefused;
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
  if (Contains(family.long_folders, word)) return OptionUse::kTakesNextFolder;
  if (equals != std::string_view::npos && Contains(family.long_values, word.substr(0, equals))) {
    return OptionUse::kAlone;
  }
  if (equals != std::string_view::npos && Contains(family.long_folders, word.substr(0, equals))) {
    return IsBelow(word.substr(equals + 1)) ? OptionUse::kAlone : OptionUse::kRefused;
  }
  if (family.numbers && IsNumber(word.substr(1))) return OptionUse::kAlone;
  if (word.substr(0, 2) == "--") return OptionUse::kRefused;
  return UseShortOptions(family, word);
}

bool IsOption(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

// Walks over the words behind a family's name.
class ArgumentCheck {
 public:
  ArgumentCheck(const Family& family, absl::Span<const FamilyWord> arguments)
      : family_(family), arguments_(arguments) {}

  [[nodiscard]] bool Passes() {
    if (HoldsRefusedText()) return false;
    for (; at_ < arguments_.size(); ++at_) {
      const FamilyWord& word = arguments_[at_];
      if (word.text == "--" && !only_operands_ && !word.is_operands) {
        if (family_.after_dashes == AfterDashes::kAnything) return true;
        only_operands_ = family_.after_dashes == AfterDashes::kOperands;
      } else if (only_operands_ || word.is_operands || !IsOption(word.text)) {
        if (!TakeOperand(word)) return false;
      } else if (!TakeOption(word.text)) {
        return false;
      }
    }
    return operands_ >= family_.min_operands;
  }

 private:
  [[nodiscard]] bool HoldsRefusedText() const {
    if (family_.refused_text.empty()) return false;
    return std::any_of(arguments_.begin(), arguments_.end(), [this](const FamilyWord& word) {
      return word.text.find(family_.refused_text) != std::string::npos;
    });
  }

  bool TakeOperand(const FamilyWord& word) {
    if (family_.first_operand != nullptr && operands_ == 0 &&
        (word.is_operands || !family_.first_operand(word.text))) {
      return false;
    }
    ++operands_;
    if (word.is_operands && family_.max_operands != kAnyNumber) return false;
    return operands_ <= family_.max_operands;
  }

  bool TakeOption(std::string_view word) {
    const OptionUse use = UseOption(family_, word);
    if (use == OptionUse::kAlone) return true;
    if (use == OptionUse::kRefused) return false;
    ++at_;
    if (at_ >= arguments_.size()) return false;
    const FamilyWord& value = arguments_[at_];
    // A program that takes the value as optional would read the next word as an option.
    if (value.is_operands) return false;
    if (IsOption(value.text)) {
      return family_.signed_values && use == OptionUse::kTakesNextWord &&
             value.text.find_first_not_of("0123456789ckMGbw", 1) == std::string::npos &&
             value.text[1] >= '0' && value.text[1] <= '9';
    }
    return use == OptionUse::kTakesNextWord || IsBelow(value.text);
  }

  const Family& family_;
  const absl::Span<const FamilyWord> arguments_;
  std::size_t at_ = 0;
  std::size_t operands_ = 0;
  bool only_operands_ = false;
};

}  // namespace

const Family* FindFamily(std::string_view name) {
  for (const Family& family : FamilyCatalogue()) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

bool FamilyCovers(std::string_view name, absl::Span<const FamilyWord> words) {
  const std::vector<std::string_view> leading = SplitName(name);
  if (words.size() < leading.size()) return false;
  for (std::size_t i = 0; i < leading.size(); ++i) {
    if (words[i].is_operands || words[i].text != leading[i]) return false;
  }
  const absl::Span<const FamilyWord> arguments = words.subspan(leading.size());
  const Family* family = FindFamily(name);
  return family == nullptr ? arguments.empty() : ArgumentCheck(*family, arguments).Passes();
}

bool IsBelow(std::string_view path) {
  if (path.empty() || path[0] == '/' || path[0] == '-') return false;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (path.substr(0, end) == "..") return false;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return true;
}

}  // namespace cordon::internal
