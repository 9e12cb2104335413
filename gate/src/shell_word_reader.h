// Reads the words of shell text one after the other; `ReadShellText` puts them together.

#ifndef CORDON_GATE_SRC_SHELL_WORD_READER_H_
#define CORDON_GATE_SRC_SHELL_WORD_READER_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "shell_words.h"

namespace cordon::internal {

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c); }
inline bool EndsWord(char c) {
  return IsBlank(c) || std::string_view("\n|&;()<>").find(c) != std::string_view::npos;
}

// A place in a text, which must outlive it, and whether the text was given up.
class ShellWordReader {
 protected:
  explicit ShellWordReader(std::string_view text) : text_(text) {}
  ~ShellWordReader() = default;

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool AtEnd() const { return at_ >= text_.size(); }
  [[nodiscard]] char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void Skip() { ++at_; }
  bool Take(std::string_view expected);

  // The first reason stays.
  void GiveUp(std::string_view reason) {
    if (reason_.empty()) reason_ = reason;
  }
  // Not empty once the text was given up; points to a literal.
  [[nodiscard]] std::string_view reason() const { return reason_; }

  // Nothing when there is no word here, or after `GiveUp`.
  std::optional<ShellWord> ReadWord();

 private:
  void ReadWordPart(ShellWord& word);
  // `{}`, `{0}`: without a comma or two dots they expand in no shell.
  void ReadBraces(ShellWord& word);
  void ReadSingleQuoted(ShellWord& word);
  void ReadDoubleQuoted(ShellWord& word);
  void ReadEscaped(ShellWord& word);
  // `$NAME`, `${NAME}` and the one-character parameters; what they stand for is unknown.
  void ReadParameter(ShellWord& word);

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view reason_;
  bool has_glob_ = false;  // Of the word that is being read.
  bool has_unknown_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_SHELL_WORD_READER_H_
