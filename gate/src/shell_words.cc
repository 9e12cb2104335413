#include "shell_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "shell_word_reader.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

constexpr std::array<std::string_view, 22> kReservedWords = {
    "!",    "{",  "}",   "[[",       "]]", "case", "coproc", "do",   "done", "elif",  "else",
    "esac", "fi", "for", "function", "if", "in",   "select", "then", "time", "until", "while"};

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

class Reader : private ShellWordReader {
 public:
  explicit Reader(std::string_view text) : ShellWordReader(text) {}

  ShellText Read() {
    const std::string_view bytes = OpaqueBytes(text());
    if (!bytes.empty()) return Opaque(bytes);
    while (reason().empty() && !AtEnd()) ReadNext();
    if (reason().empty()) FinishText();
    if (!reason().empty()) return Opaque(reason());
    return std::move(result_);
  }

 private:
  static ShellText Opaque(std::string_view reason) {
    ShellText text;
    text.opaque = true;
    text.opaque_reason = std::string(reason);
    return text;
  }

  void ReadNext() {
    const char c = Peek();
    if (IsBlank(c)) {
      Skip();
    } else if (Take("\\\n")) {
      // Between words it separates nothing and joins nothing.
      if (AtEnd()) GiveUp("it ends in a backslash");
    } else if (c == '#') {
      while (!AtEnd() && Peek() != '\n') Skip();
    } else if (c == '\n') {
      Skip();
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
    Skip();
    if (closing == ')' && Peek() == '(') return GiveUp("it has arithmetic or nested subshells");
    groups_.push_back({closing, result_.commands.size()});
  }

  void CloseGroup(char closing) {
    if (groups_.empty() || groups_.back().closing != closing) {
      return GiveUp("a group is closed that was not opened");
    }
    if (!CurrentIsEmpty()) EndCommand(Joiner::kEnd);
    if (!reason().empty()) return;
    if (result_.commands.size() == groups_.back().first_command) return GiveUp("a group is empty");
    if (WantsMore(result_.joiners.back())) return GiveUp("an operator has no command after it");
    if (result_.joiners.back() == Joiner::kBackground) {
      return GiveUp("the last command of a group runs in the background");
    }
    groups_.pop_back();
    group_closed_ = true;
    Skip();
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
    if (IsDigit(Peek())) Skip();
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
      Skip();
    }
    while (IsBlank(Peek())) Skip();
    std::optional<ShellWord> target;
    if (Peek() != '#') target = ReadWord();
    if (!target.has_value()) return GiveUp("a redirection has no target");
    // `>1>x`: digits before an operator belong to it.
    const bool starts_next = Peek() == '<' || Peek() == '>';
    if (starts_next && IsDigit(text()[at() - 1])) return GiveUp("redirections stand too close");
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
    const std::size_t start = at();
    std::optional<ShellWord> word = ReadWord();
    if (!word.has_value()) return GiveUp("a word is not understood");
    const bool is_time = may_be_time && word->text == "time";
    if ((first || timed) && IsReserved(*word) && !is_time) {
      return GiveUp("it has a reserved word of the shell");
    }
    const std::string_view spelling = text().substr(start, at() - start);
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

  struct Group {
    char closing;
    std::size_t first_command;
  };
  std::vector<Group> groups_;  // Open ones.
  bool group_closed_ = false;  // The last thing read was the end of a group.
  SimpleCommand current_;
  ShellText result_;
};

}  // namespace

ShellText ReadShellText(std::string_view text) { return Reader(text).Read(); }

}  // namespace cordon::internal
