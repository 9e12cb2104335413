#include "cordon/sdk/command.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "normal_path.h"
#include "unprintable.h"
#include "utf8.h"

namespace cordon {
namespace {

constexpr std::string_view kArgvPrefix = "argv: ";
constexpr std::string_view kShellWord = "shell";

bool HoldsNul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

absl::Status Invalid(std::string_view message) {
  return MakeError(ErrorCode::kInvalidCommand, message);
}

absl::Status ValidateArgv(const Command& command) {
  if (!command.shell_text.empty()) return Invalid("a command is either argv or shell text");
  if (command.argv.empty()) return Invalid("the command has no words");
  if (command.argv.front().empty()) return Invalid("the command names no program");
  if (std::any_of(command.argv.begin(), command.argv.end(), HoldsNul)) {
    return Invalid("a word of the command holds a NUL byte");
  }
  return absl::OkStatus();
}

absl::Status ValidateShell(const Command& command) {
  if (!command.argv.empty()) return Invalid("a command is either argv or shell text");
  if (command.shell_text.empty()) return Invalid("the shell text is empty");
  if (HoldsNul(command.shell_text)) return Invalid("the shell text holds a NUL byte");
  if (!internal::IsNormalAbsolutePath(command.shell)) {
    return Invalid(absl::StrFormat("the shell \"%s\" is not an absolute, normal path",
                                   EscapeForDisplay(command.shell)));
  }
  return absl::OkStatus();
}

bool IsPlain(char c) {
  constexpr std::string_view kPlainPunctuation = "_@%+=:,./-";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kPlainPunctuation.find(c) != std::string_view::npos;
}

// A single quote becomes '"'"' and not '\'' since the display doubles backslashes.
std::string QuoteWord(std::string_view word, bool is_program) {
  // `A=1` in front would read as an assignment.
  const bool is_assignment = is_program && word.find('=') != std::string_view::npos;
  if (!word.empty() && !is_assignment && std::all_of(word.begin(), word.end(), IsPlain)) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += R"('"'"')";
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "'";
}

std::string QuoteArgv(const std::vector<std::string>& argv) {
  std::string line;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (i > 0) line.push_back(' ');
    line += QuoteWord(argv[i], i == 0);
  }
  return line;
}

// Between these two the application chooses, and never the text.
bool IsUsualShell(std::string_view shell) { return shell == "/bin/sh" || shell == "/bin/bash"; }

// What tells shell text from argv and from the text of another shell; mostly nothing.
std::string ShellPrefix(const Command& command) {
  if (!IsUsualShell(command.shell)) {
    return absl::StrFormat("%s %s: ", kShellWord, QuoteWord(command.shell, true));
  }
  const std::string_view text = command.shell_text;
  const bool is_ambiguous = text.starts_with(kArgvPrefix) || text.starts_with(kShellWord);
  return is_ambiguous ? absl::StrFormat("%s: ", kShellWord) : "";
}

std::string EscapeByte(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '\\':
      return "\\\\";
  }
  return absl::StrFormat("\\x%02x", static_cast<unsigned char>(byte));
}

std::string EscapeCodePoint(char32_t value) {
  const auto number = static_cast<std::uint32_t>(value);
  return number <= 0xffff ? absl::StrFormat("\\u%04x", number) : absl::StrFormat("\\U%08x", number);
}

}  // namespace

Command Command::Argv(std::vector<std::string> argv, std::string working_directory) {
  return Command{Form::kArgv, std::move(argv), "", std::move(working_directory), kDefaultShell};
}

Command Command::Shell(std::string text, std::string working_directory, std::string shell) {
  return Command{Form::kShell, {}, std::move(text), std::move(working_directory), std::move(shell)};
}

absl::Status ValidateCommand(const Command& command) {
  const bool is_shell = command.form == Command::Form::kShell;
  const absl::Status words = is_shell ? ValidateShell(command) : ValidateArgv(command);
  if (!words.ok()) return words;
  if (!internal::IsNormalAbsolutePath(command.working_directory)) {
    return Invalid(absl::StrFormat("the working directory \"%s\" is not an absolute, normal path",
                                   EscapeForDisplay(command.working_directory)));
  }
  return absl::OkStatus();
}

std::vector<std::string> EffectiveArgv(const Command& command) {
  switch (command.form) {
    case Command::Form::kArgv:
      return command.argv;
    case Command::Form::kShell:
      return {command.shell, "-c", "--", command.shell_text};
  }
  return {};
}

Digest CommandDigest(const Command& command) {
  FieldHasher hasher;
  hasher.Add("cordon.command.v1").Add(static_cast<std::uint64_t>(command.form));
  hasher.Add(command.argv.size());
  for (const std::string& word : command.argv) hasher.Add(word);
  return hasher.Add(command.shell_text).Add(command.shell).Finish();
}

std::string CommandMatch(const Command& command) {
  if (command.form == Command::Form::kArgv) {
    return std::string(kArgvPrefix) + QuoteArgv(command.argv);
  }
  return ShellPrefix(command) + command.shell_text;
}

std::string CommandDisplay(const Command& command) {
  return EscapeForDisplay(command.form == Command::Form::kArgv ? QuoteArgv(command.argv)
                                                               : CommandMatch(command));
}

std::string EscapeForDisplay(std::string_view text, bool keep_newlines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const internal::CodePoint point = internal::FirstCodePoint(text);
    const std::string_view bytes = text.substr(0, point.size);
    const bool is_kept_newline = keep_newlines && bytes == "\n";
    if (!point.valid || bytes == "\\") {
      shown += EscapeByte(bytes.front());
    } else if (is_kept_newline || !internal::IsUnprintable(point.value)) {
      shown += bytes;
    } else {
      shown += point.size == 1 ? EscapeByte(bytes.front()) : EscapeCodePoint(point.value);
    }
    text.remove_prefix(point.size);
  }
  return shown;
}

}  // namespace cordon
