#include "shell_word_reader.h"

#include <string>

namespace cordon::internal {

bool ShellWordReader::Take(std::string_view expected) {
  if (text_.substr(at_, expected.size()) != expected) return false;
  at_ += expected.size();
  return true;
}

std::optional<ShellWord> ShellWordReader::ReadWord() {
  ShellWord word;
  const std::size_t start = at_;
  while (reason_.empty() && !AtEnd() && !EndsWord(Peek())) ReadWordPart(word);
  // `a(b` is a function or a pattern, never a word and something else.
  if (Peek() == '(') GiveUp("it has a subshell or a function");
  if (at_ == start || !reason_.empty()) return std::nullopt;
  // A match of `*.c` may begin with a dash, one of `src/*` cannot.
  const bool literal_start =
      !word.text.empty() && std::string_view("*?[-").find(word.text[0]) == std::string_view::npos;
  word.glob = has_glob_ && !has_unknown_ && literal_start;
  has_glob_ = has_unknown_ = false;
  // The program `[`: no pattern without its other half.
  if (text_.substr(start, at_ - start) == "[") word.exact = true;
  return word;
}

void ShellWordReader::ReadWordPart(ShellWord& word) {
  const char c = Peek();
  switch (c) {
    case '\'':
      return ReadSingleQuoted(word);
    case '"':
      return ReadDoubleQuoted(word);
    case '\\':
      return ReadEscaped(word);
    case '$':
      return ReadParameter(word);
    case '`':
      return GiveUp("it has a command substitution");
    case '{':
    case '}':
      return ReadBraces(word);
    case '*':
    case '?':
    case '[':
      word.exact = false;
      has_glob_ = true;
      break;
    case '~':
      // Expands at the start of a word and, in assignments, after these two.
      if (word.text.empty() || word.text.back() == '=' || word.text.back() == ':') {
        word.exact = false;
        has_unknown_ = true;
      }
      break;
  }
  word.text.push_back(c);
  ++at_;
}

void ShellWordReader::ReadBraces(ShellWord& word) {
  std::size_t ahead = 1;
  while (IsNameChar(Peek(ahead)) || Peek(ahead) == '-') ++ahead;
  if (Peek() != '{' || Peek(ahead) != '}') return GiveUp("it has braces");
  // `{fd}>x` names a descriptor.
  if (Peek(ahead + 1) == '<' || Peek(ahead + 1) == '>') return GiveUp("it has braces");
  word.text += text_.substr(at_, ahead + 1);
  at_ += ahead + 1;
}

void ShellWordReader::ReadSingleQuoted(ShellWord& word) {
  const std::size_t end = text_.find('\'', at_ + 1);
  if (end == std::string_view::npos) return GiveUp("a quote is not closed");
  word.text += text_.substr(at_ + 1, end - at_ - 1);
  word.quoted = true;
  at_ = end + 1;
}

void ShellWordReader::ReadDoubleQuoted(ShellWord& word) {
  word.quoted = true;
  ++at_;
  while (reason_.empty()) {
    if (AtEnd()) return GiveUp("a quote is not closed");
    const char c = Peek();
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '`') return GiveUp("it has a command substitution");
    if (c == '$') {
      ReadParameter(word);
    } else if (c == '\\' && std::string_view("$`\"\\\n").find(Peek(1)) != std::string_view::npos) {
      ReadEscaped(word);
    } else {
      word.text.push_back(c);
      ++at_;
    }
  }
}

void ShellWordReader::ReadEscaped(ShellWord& word) {
  if (at_ + 1 >= text_.size()) return GiveUp("it ends in a backslash");
  if (Peek(1) == '\n') return GiveUp("it has a line continuation");
  word.text.push_back(Peek(1));
  word.quoted = true;
  at_ += 2;
}

void ShellWordReader::ReadParameter(ShellWord& word) {
  word.exact = false;
  has_unknown_ = true;
  ++at_;
  const bool braced = Take("{");
  if (IsNameStart(Peek())) {
    while (IsNameChar(Peek())) ++at_;
  } else if (!AtEnd() &&
             std::string_view("?$#!-@*0123456789").find(Peek()) != std::string_view::npos) {
    ++at_;
  } else {
    return GiveUp("it has an expansion");
  }
  if (braced && !Take("}")) return GiveUp("it has an expansion");
}

}  // namespace cordon::internal
