#include "shell_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "utf8.h"

namespace cordon::internal {
namespace {

constexpr std::array<std::string_view, 22> kReservedWords = {
    "!",    "{",  "}",   "[[",       "]]", "case", "coproc", "do",   "done", "elif",  "else",
    "esac", "fi", "for", "function", "if", "in",   "select", "then", "time", "until", "while"};

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c); }
bool EndsWord(char c) {
  return IsBlank(c) || std::string_view("\n|&;()<>").find(c) != std::string_view::npos;
}

bool IsReserved(const ShellWord& word) {
  if (word.quoted) return false;
  return std::find(kReservedWords.begin(), kReservedWords.end(), word.text) != kReservedWords.end();
}

// Why the bytes alone make the text opaque; empty when they do not.
std::string_view OpaqueBytes(std::string_view text) {
  if (!IsValidUtf8(text)) return "it is not valid UTF-8";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F) {
      return "it holds a control character";
    }
    // In some Asian encodings the second byte of a character is one of these, so that a shell in
    // such a locale swallows, say, a backslash or a pipe that is seen here.
    const char next = i + 1 < text.size() ? text[i + 1] : 'a';
    const bool punctuation = next >= 0x40 && next < 0x7F && !IsNameChar(next);
    if (byte >= 0x80 && punctuation) return "its meaning depends on the character encoding";
  }
  return {};
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  ShellText Read() {
    std::string_view reason = OpaqueBytes(text_);
    if (!reason.empty()) return Opaque(reason);
    while (reason_.empty() && !AtEnd()) ReadNext();
    if (reason_.empty()) FinishText();
    if (!reason_.empty()) return Opaque(reason_);
    return std::move(result_);
  }

 private:
  static ShellText Opaque(std::string_view reason) {
    ShellText text;
    text.opaque = true;
    text.opaque_reason = std::string(reason);
    return text;
  }

  [[nodiscard]] bool AtEnd() const { return at_ >= text_.size(); }
  [[nodiscard]] char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Take(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  void GiveUp(std::string_view reason) {
    if (reason_.empty()) reason_ = reason;
  }

  void ReadNext() {
    const char c = Peek();
    if (IsBlank(c)) {
      ++at_;
    } else if (Take("\\\n")) {
      // Between words it separates nothing and joins nothing.
      if (AtEnd()) GiveUp("it ends in a backslash");
    } else if (c == '#') {
      while (!AtEnd() && Peek() != '\n') ++at_;
    } else if (c == '\n') {
      ++at_;
      EndLine();
    } else if (c == '(') {
      OpenGroup(')');
    } else if (c == ')') {
      CloseGroup(')');
    } else if (std::string_view("|&;").find(c) != std::string_view::npos) {
      ReadOperator();
    } else if (StartsRedirection()) {
      ReadRedirection();
    } else {
      ReadCommandWord();
    }
  }

  void EndLine() {
    // A newline after `&&`, `||` or `|` continues the list; an empty line is nothing.
    if (group_closed_ || !CurrentIsEmpty()) EndCommand(Joiner::kSequence);
  }

  // A list in parentheses or braces. `((` is arithmetic in some shells.
  void OpenGroup(char closing) {
    if (group_closed_ || !CurrentIsEmpty()) return GiveUp("it has a function or a pattern");
    if (PipeIsOpen()) return GiveUp("a group is part of a pipe");
    ++at_;
    if (closing == ')' && Peek() == '(') return GiveUp("it has arithmetic or nested subshells");
    groups_.push_back({closing, result_.commands.size()});
  }

  void CloseGroup(char closing) {
    if (groups_.empty() || groups_.back().closing != closing) {
      return GiveUp("a group is closed that was not opened");
    }
    if (!CurrentIsEmpty()) EndCommand(Joiner::kEnd);
    if (!reason_.empty()) return;
    if (result_.commands.size() == groups_.back().first_command) return GiveUp("a group is empty");
    if (WantsMore(result_.joiners.back())) return GiveUp("an operator has no command after it");
    if (result_.joiners.back() == Joiner::kBackground) {
      return GiveUp("the last command of a group runs in the background");
    }
    groups_.pop_back();
    group_closed_ = true;
    ++at_;
  }

  [[nodiscard]] bool PipeIsOpen() const {
    return !result_.joiners.empty() &&
           (result_.joiners.back() == Joiner::kPipe || result_.joiners.back() == Joiner::kPipeBoth);
  }

  static bool WantsMore(Joiner joiner) {
    switch (joiner) {
      case Joiner::kAnd:
      case Joiner::kOr:
      case Joiner::kPipe:
      case Joiner::kPipeBoth:
        return true;
      case Joiner::kEnd:
      case Joiner::kSequence:
      case Joiner::kBackground:
        return false;
    }
    return true;
  }

  void ReadOperator() {
    // `;;` and `;&` belong to `case`; `&>` is one operator in some shells and two in others.
    if (Take(";;") || Take(";&") || Take("&>")) return GiveUp("it has an operator of few shells");
    if (Take("&&")) return EndCommand(Joiner::kAnd);
    if (Take("||")) return EndCommand(Joiner::kOr);
    if (Take("|&")) return EndCommand(Joiner::kPipeBoth);
    if (Take("|")) return EndCommand(Joiner::kPipe);
    if (Take("&")) return EndCommand(Joiner::kBackground);
    if (Take(";")) return EndCommand(Joiner::kSequence);
  }

  [[nodiscard]] bool CurrentIsEmpty() const { return current_ == SimpleCommand{}; }

  void EndCommand(Joiner joiner) {
    if (std::exchange(group_closed_, false)) return EndGroup(joiner);
    if (CurrentIsEmpty()) return GiveUp("an operator has no command before it");
    if (ExpectsTimed()) return GiveUp("`time` has no command after it");
    result_.commands.push_back(std::exchange(current_, {}));
    result_.joiners.push_back(joiner);
  }

  // What follows a group joins its last command.
  void EndGroup(Joiner joiner) {
    switch (joiner) {
      case Joiner::kPipe:
      case Joiner::kPipeBoth:
        return GiveUp("a group is part of a pipe");
      case Joiner::kBackground:
        return GiveUp("a group runs in the background");
      case Joiner::kEnd:
      case Joiner::kAnd:
      case Joiner::kOr:
      case Joiner::kSequence:
        result_.joiners.back() = joiner;
    }
  }

  void FinishText() {
    if (!groups_.empty()) return GiveUp("a group is not closed");
    if (group_closed_ || !CurrentIsEmpty()) return EndCommand(Joiner::kEnd);
    if (result_.commands.empty()) return GiveUp("it has no command");
    if (WantsMore(result_.joiners.back())) GiveUp("an operator has no command after it");
  }

  [[nodiscard]] bool StartsRedirection() const {
    std::size_t ahead = 0;
    while (IsDigit(Peek(ahead))) ++ahead;
    return Peek(ahead) == '<' || Peek(ahead) == '>';
  }

  void ReadRedirection() {
    if (group_closed_) return GiveUp("a group is redirected");
    if (ExpectsTimed()) return GiveUp("a redirection follows `time`");
    // Shells differ about numbers of several digits.
    if (IsDigit(Peek())) ++at_;
    if (IsDigit(Peek())) return GiveUp("it redirects a descriptor of several digits");
    Redirection redirection;
    if (Take("<<") || Take("<>") || Take("<(") || Take(">(") || Take(">|")) {
      return GiveUp("it has a here-document or a redirection that is not understood");
    }
    if (Take(">&") || Take("<&")) {
      redirection.kind = Redirection::Kind::kDuplicate;
    } else if (Take(">>")) {
      redirection.kind = Redirection::Kind::kAppend;
    } else if (Take(">")) {
      redirection.kind = Redirection::Kind::kOutput;
    } else {
      ++at_;
    }
    while (IsBlank(Peek())) ++at_;
    std::optional<ShellWord> target;
    if (Peek() != '#') target = ReadWord();
    if (!target.has_value()) return GiveUp("a redirection has no target");
    // `>1>x`: digits before an operator belong to it.
    const bool starts_next = Peek() == '<' || Peek() == '>';
    if (starts_next && IsDigit(text_[at_ - 1])) return GiveUp("redirections stand too close");
    if (redirection.kind == Redirection::Kind::kDuplicate && !IsDescriptor(*target)) {
      return GiveUp("it redirects to something that is no descriptor");
    }
    redirection.target = *std::move(target);
    current_.redirections.push_back(std::move(redirection));
  }

  static bool IsDescriptor(const ShellWord& word) {
    const std::string& text = word.text;
    return word.exact && !word.quoted && text.size() == 1 && (text[0] == '-' || IsDigit(text[0]));
  }

  // `{` and `}` are words of their own, and only where a command may start.
  [[nodiscard]] bool IsBrace(char brace) const {
    return CurrentIsEmpty() && Peek() == brace && (Peek(1) == '\0' || EndsWord(Peek(1)));
  }

  void ReadCommandWord() {
    if (IsBrace('{')) return OpenGroup('}');
    if (IsBrace('}')) return CloseGroup('}');
    if (group_closed_) return GiveUp("a word follows a group");
    const bool may_be_time = CurrentIsEmpty() && !PipeIsOpen();
    const bool timed = ExpectsTimed();
    const bool first = current_.words.empty();
    const std::size_t start = at_;
    std::optional<ShellWord> word = ReadWord();
    if (!word.has_value()) return GiveUp("a word is not understood");
    const bool is_time = may_be_time && word->text == "time";
    if ((first || timed) && IsReserved(*word) && !is_time) {
      return GiveUp("it has a reserved word of the shell");
    }
    const std::string_view spelling = text_.substr(start, at_ - start);
    if (timed && !MayBeTimed(spelling)) return GiveUp("shells differ about what follows `time`");
    if (first && IsAssignment(spelling)) return;
    current_.words.push_back(*std::move(word));
  }

  // Whether `time`, or `time -p`, is all that was read of the command.
  [[nodiscard]] bool ExpectsTimed() const {
    const std::vector<ShellWord>& words = current_.words;
    if (words.empty() || words[0].text != "time" || words[0].quoted) return false;
    return words.size() == 1 || (words.size() == 2 && words[1].text == "-p");
  }

  // Where it is a reserved word it takes `-p` and no other option, and assignments may follow.
  [[nodiscard]] bool MayBeTimed(std::string_view spelling) const {
    if (spelling == "-p") return current_.words.size() == 1;
    const std::size_t quotes = spelling.find_first_not_of("'\"\\");
    return quotes != std::string_view::npos && spelling[quotes] != '-' &&
           spelling.find('=') == std::string_view::npos;
  }

  // Takes `NAME=...` as an assignment.
  bool IsAssignment(std::string_view spelling) {
    std::size_t length = 0;
    if (!IsNameStart(spelling[0])) return false;
    while (length < spelling.size() && IsNameChar(spelling[length])) ++length;
    const std::string_view rest = spelling.substr(length);
    if (rest.substr(0, 2) == "+=") {
      GiveUp("it has an assignment of few shells");
      return false;
    }
    if (rest.substr(0, 1) != "=") return false;
    current_.assigned_names.emplace_back(spelling.substr(0, length));
    return true;
  }

  // Nothing when there is no word here, or after `GiveUp`.
  std::optional<ShellWord> ReadWord() {
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

  void ReadWordPart(ShellWord& word) {
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

  // `{}`, `{0}`: without a comma or two dots they expand in no shell.
  void ReadBraces(ShellWord& word) {
    std::size_t ahead = 1;
    while (IsNameChar(Peek(ahead)) || Peek(ahead) == '-') ++ahead;
    if (Peek() != '{' || Peek(ahead) != '}') return GiveUp("it has braces");
    // `{fd}>x` names a descriptor.
    if (Peek(ahead + 1) == '<' || Peek(ahead + 1) == '>') return GiveUp("it has braces");
    word.text += text_.substr(at_, ahead + 1);
    at_ += ahead + 1;
  }

  void ReadSingleQuoted(ShellWord& word) {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return GiveUp("a quote is not closed");
    word.text += text_.substr(at_ + 1, end - at_ - 1);
    word.quoted = true;
    at_ = end + 1;
  }

  void ReadDoubleQuoted(ShellWord& word) {
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
      } else if (c == '\\' &&
                 std::string_view("$`\"\\\n").find(Peek(1)) != std::string_view::npos) {
        ReadEscaped(word);
      } else {
        word.text.push_back(c);
        ++at_;
      }
    }
  }

  void ReadEscaped(ShellWord& word) {
    if (at_ + 1 >= text_.size()) return GiveUp("it ends in a backslash");
    if (Peek(1) == '\n') return GiveUp("it has a line continuation");
    word.text.push_back(Peek(1));
    word.quoted = true;
    at_ += 2;
  }

  // `$NAME`, `${NAME}` and the one-character parameters; what they stand for is unknown.
  void ReadParameter(ShellWord& word) {
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

  std::string_view text_;
  std::size_t at_ = 0;
  std::string_view reason_;  // Not empty once it is opaque.
  struct Group {
    char closing;
    std::size_t first_command;
  };
  std::vector<Group> groups_;  // Open ones.
  bool group_closed_ = false;  // The last thing read was the end of a group.
  bool has_glob_ = false;      // Of the word that is being read.
  bool has_unknown_ = false;
  SimpleCommand current_;
  ShellText result_;
};

}  // namespace

ShellText ReadShellText(std::string_view text) { return Reader(text).Read(); }

}  // namespace cordon::internal
