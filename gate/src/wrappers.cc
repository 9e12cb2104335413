#include "wrappers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::internal {
namespace {

constexpr int kMaxDepth = 8;

// By its name alone, as PATH finds it, or where the system has it.
std::string_view SystemProgram(const ShellWord& word) {
  std::string_view name = word.text;
  for (const std::string_view folder : {"/usr/bin/", "/bin/"}) {
    if (!name.starts_with(folder)) continue;
    name.remove_prefix(folder.size());
    break;
  }
  return word.exact ? name : std::string_view();
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsDuration(std::string_view text) {
  if (!text.empty() && std::string_view("smhd").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  return IsNumber(text.substr(0, point)) &&
         (point == text.size() || IsNumber(text.substr(point + 1)));
}

bool IsSignal(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == std::string_view::npos;
}

bool IsAnything(std::string_view /*text*/) { return true; }

bool IsAdjustment(std::string_view text) {
  return IsNumber(text.starts_with('-') ? text.substr(1) : text);
}

// The words of a wrapper behind its name, taken one by one.
class Words {
 public:
  explicit Words(const std::vector<ShellWord>& words) : words_(words) {}

  [[nodiscard]] bool AtEnd() const { return at_ >= words_.size(); }
  // The next word's text; empty at the end and for what is not exact.
  [[nodiscard]] std::string_view Peek() const {
    return AtEnd() || !words_[at_].exact ? std::string_view() : words_[at_].text;
  }
  bool Take(std::string_view text) {
    if (text.empty() || Peek() != text) return false;
    ++at_;
    return true;
  }
  void Skip() { ++at_; }
  [[nodiscard]] std::vector<ShellWord> Rest() const {
    return {words_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, words_.size())),
            words_.end()};
  }

  // `-k 5`, `-k5`, with a value that `holds`. Whether it was taken.
  template <typename Holds>
  bool TakeShort(std::string_view option, const Holds& holds, std::string* value = nullptr) {
    const std::string_view word = Peek();
    if (!word.starts_with(option)) return false;
    std::size_t used = 1;
    std::string_view found = word.substr(option.size());
    if (found.empty()) {
      if (at_ + 1 >= words_.size() || !words_[at_ + 1].exact) return false;
      found = words_[at_ + 1].text;
      used = 2;
    }
    return Use(found, holds, used, value);
  }
  // `--signal=KILL`.
  template <typename Holds>
  bool TakeLong(std::string_view option, const Holds& holds) {
    const std::string_view word = Peek();
    if (!word.starts_with(option) || word.substr(option.size(), 1) != "=") return false;
    return Use(word.substr(option.size() + 1), holds, 1, nullptr);
  }

 private:
  template <typename Holds>
  bool Use(std::string_view found, const Holds& holds, std::size_t used, std::string* value) {
    if (found.empty() || !holds(found)) return false;
    if (value != nullptr) *value = std::string(found);
    at_ += used;
    return true;
  }

  const std::vector<ShellWord>& words_;
  std::size_t at_ = 1;
};

// What stands around `command`, with `words` in its place. An option that was not taken is left at
// the front of `words`.
std::optional<ShellText> Inside(const SimpleCommand& command, std::vector<ShellWord> words) {
  if (words.empty() || words[0].text.starts_with("-")) return std::nullopt;
  SimpleCommand inner = command;
  inner.wrappers.push_back(command.words[0].text);
  inner.words = std::move(words);
  ShellText text;
  text.commands.push_back(std::move(inner));
  text.joiners.push_back(Joiner::kEnd);
  return text;
}

bool IsName(std::string_view text) {
  const auto is_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_char);
}

std::optional<ShellText> InsideEnv(const SimpleCommand& command) {
  SimpleCommand outer = command;
  Words words(command.words);
  std::string name;
  while (!words.AtEnd()) {
    if (words.Take("-i") || words.Take("-") || words.Take("--ignore-environment")) {
      outer.assigned_names.emplace_back();
    } else if (words.TakeShort("-u", IsName, &name)) {
      outer.assigned_names.push_back(name);
    } else {
      break;
    }
  }
  for (std::string_view word = words.Peek();
       !word.starts_with('-') && word.find('=') != std::string_view::npos; word = words.Peek()) {
    outer.assigned_names.emplace_back(word.substr(0, word.find('=')));
    words.Skip();
  }
  // `$x` may be an assignment or an option.
  if (words.Peek().empty()) return std::nullopt;
  return Inside(outer, words.Rest());
}

std::optional<ShellText> InsideNice(const SimpleCommand& command) {
  Words words(command.words);
  while (words.TakeShort("-n", IsAdjustment) || words.TakeLong("--adjustment", IsAdjustment)) {
  }
  if (words.Peek().empty()) return std::nullopt;
  return Inside(command, words.Rest());
}

// The shell's reserved word or the program: they have no other option in common.
std::optional<ShellText> InsideTime(const SimpleCommand& command) {
  Words words(command.words);
  (void)words.Take("-p");
  if (words.Peek().empty()) return std::nullopt;
  return Inside(command, words.Rest());
}

std::optional<ShellText> InsideTimeout(const SimpleCommand& command) {
  Words words(command.words);
  while (words.Take("--foreground") || words.Take("--preserve-status") || words.Take("-v") ||
         words.Take("--verbose") || words.TakeShort("-k", IsDuration) ||
         words.TakeShort("-s", IsSignal) || words.TakeLong("--kill-after", IsDuration) ||
         words.TakeLong("--signal", IsSignal)) {
  }
  if (!IsDuration(words.Peek())) return std::nullopt;
  words.Skip();
  if (words.Peek().empty()) return std::nullopt;
  return Inside(command, words.Rest());
}

// Words with `mark` in them are replaced by what is read, which may be anything.
std::vector<ShellWord> Replace(std::vector<ShellWord> words, const std::string& mark) {
  for (ShellWord& word : words) {
    if (word.text.find(mark) != std::string::npos) word = ShellWord{"", false, false, false, true};
  }
  return words;
}

std::optional<ShellText> InsideXargs(const SimpleCommand& command) {
  Words words(command.words);
  std::string mark;
  while (words.Take("-0") || words.Take("-r") || words.Take("-t") || words.Take("-0r") ||
         words.Take("-r0") || words.Take("--null") || words.Take("--no-run-if-empty") ||
         words.Take("--verbose") || words.TakeShort("-n", IsNumber) ||
         words.TakeShort("-P", IsNumber) || words.TakeShort("-L", IsNumber) ||
         words.TakeShort("-d", IsAnything) || words.TakeShort("-I", IsAnything, &mark) ||
         words.TakeLong("--max-args", IsNumber) || words.TakeLong("--max-procs", IsNumber) ||
         words.TakeLong("--delimiter", IsAnything)) {
  }
  std::vector<ShellWord> rest = words.Rest();
  if (words.AtEnd()) rest.push_back(ShellWord{"echo", true, false, false, false});
  if (rest[0].text.starts_with("-")) return std::nullopt;
  if (mark.empty()) {
    rest.push_back(ShellWord{"", false, false, false, true});
  } else {
    rest = Replace(std::move(rest), mark);
  }
  return Inside(command, std::move(rest));
}

// `sh -c TEXT`, with or without a name for it.
std::optional<ShellText> InsideShell(const SimpleCommand& command) {
  constexpr std::array<std::string_view, 7> kOptions = {"-c",  "-ec",  "-uc", "-xc",
                                                        "-ce", "-euc", "-exc"};
  Words words(command.words);
  const auto option = std::find(kOptions.begin(), kOptions.end(), words.Peek());
  if (option == kOptions.end()) return std::nullopt;
  words.Skip();
  const std::string_view script = words.Peek();
  if (script.empty() || script[0] == '-' || script[0] == '+') return std::nullopt;
  if (words.Rest().size() > 2) return std::nullopt;
  ShellText text = ReadShellText(script);
  if (text.opaque) return std::nullopt;
  for (SimpleCommand& inner : text.commands) {
    inner.assigned_names.insert(inner.assigned_names.begin(), command.assigned_names.begin(),
                                command.assigned_names.end());
    inner.redirections.insert(inner.redirections.begin(), command.redirections.begin(),
                              command.redirections.end());
    inner.wrappers = command.wrappers;
    inner.wrappers.push_back(command.words[0].text);
  }
  return text;
}

bool IsPipe(Joiner joiner) { return joiner == Joiner::kPipe || joiner == Joiner::kPipeBoth; }

// What several commands in place of one would change: a pipe reads or feeds all of them, and a job
// in the background of a shell is in the background of the text.
bool Fits(const ShellText& outer, std::size_t at, const ShellText& inner) {
  if (inner.joiners.back() == Joiner::kBackground) return false;
  if (inner.commands.size() == 1) return true;
  const bool reads = at > 0 && IsPipe(outer.joiners[at - 1]);
  return !reads && !IsPipe(outer.joiners[at]) && outer.joiners[at] != Joiner::kBackground;
}

// One level of wrappers; whether there was one.
bool UnwrapOnce(ShellText& text) {
  ShellText result;
  bool changed = false;
  for (std::size_t i = 0; i < text.commands.size(); ++i) {
    const std::optional<ShellText> inner = Unwrap(text.commands[i]);
    if (!inner.has_value() || !Fits(text, i, *inner)) {
      result.commands.push_back(text.commands[i]);
      result.joiners.push_back(text.joiners[i]);
      continue;
    }
    changed = true;
    result.commands.insert(result.commands.end(), inner->commands.begin(), inner->commands.end());
    result.joiners.insert(result.joiners.end(), inner->joiners.begin(), inner->joiners.end());
    if (text.joiners[i] != Joiner::kEnd) result.joiners.back() = text.joiners[i];
  }
  text = std::move(result);
  return changed;
}

}  // namespace

std::optional<ShellText> Unwrap(const SimpleCommand& command) {
  if (command.words.empty() || command.wrappers.size() >= kMaxDepth) return std::nullopt;
  const std::string_view program = SystemProgram(command.words[0]);
  if (program == "env") return InsideEnv(command);
  if (program == "nice") return InsideNice(command);
  if (program == "time") return InsideTime(command);
  if (program == "timeout") return InsideTimeout(command);
  if (program == "xargs") return InsideXargs(command);
  if (program == "sh" || program == "bash" || program == "dash") return InsideShell(command);
  return std::nullopt;
}

ShellText UnwrapAll(const ShellText& text) {
  ShellText result = text;
  while (!result.opaque && UnwrapOnce(result)) {
  }
  return result;
}

}  // namespace cordon::internal
