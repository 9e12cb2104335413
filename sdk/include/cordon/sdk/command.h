// A command exactly as it will run. Pure values; safe from any thread.

#ifndef CORDON_SDK_COMMAND_H_
#define CORDON_SDK_COMMAND_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cordon/sdk/digest.h"

namespace cordon {

struct Command {
  enum class Form : std::uint8_t {
    kArgv,   // `argv` is executed directly; argv[0] is looked up in the command's PATH.
    kShell,  // `shell_text` is run as `SHELL -c -- TEXT`.
  };

  Form form = Form::kArgv;
  std::vector<std::string> argv;      // kArgv only.
  std::string shell_text;             // kShell only.
  std::string working_directory;      // Absolute, normal, symbolic links resolved.
  std::string shell = kDefaultShell;  // kShell only: the absolute path of a POSIX shell.

  static constexpr const char* kDefaultShell = "/bin/sh";

  [[nodiscard]] static Command Argv(std::vector<std::string> argv, std::string working_directory);
  [[nodiscard]] static Command Shell(std::string text, std::string working_directory,
                                     std::string shell = kDefaultShell);

  friend bool operator==(const Command&, const Command&) = default;
};

// Returns kInvalidCommand for an empty argv or text, an empty argv[0], a NUL byte, or a working
// directory or shell that is not absolute and normal.
[[nodiscard]] absl::Status ValidateCommand(const Command& command);

// What execve(2) gets.
[[nodiscard]] std::vector<std::string> EffectiveArgv(const Command& command);

// SHA-256 over the form, the shell and every word, not the directory, which grants bind on its own.
// The two forms never share a digest.
[[nodiscard]] Digest CommandDigest(const Command& command);

// What rules about this exact command compare: shell text as it is; argv with POSIX quoting behind
// "argv: ". Two commands that differ in form, words or shell never share it, but for /bin/sh and
// /bin/bash, between which an application chooses and no text can: another shell is named in front
// ("shell /bin/zsh: "), and text that begins with "argv: " or "shell" gets "shell: " before it.
// Bytes as they are: escape before showing.
[[nodiscard]] std::string CommandMatch(const Command& command);

// One line for people and logs, escaped like `EscapeForDisplay` and never truncated: argv with
// POSIX quoting, shell text as in `CommandMatch`. Of one form, different commands are shown
// differently.
[[nodiscard]] std::string CommandDisplay(const Command& command);

// Escapes any text so that different texts, valid UTF-8 or not, are shown differently: backslash as
// `\\`, newline, tab and carriage return as `\n`, `\t`, `\r`, other ASCII controls and bytes that
// are not UTF-8 as `\x1b`, other invisible, bidirectional, blank or combining characters as
// `\u202e` or `\U000e0001`. Printable letters of every script stay. Newlines are kept when
// `keep_newlines`.
[[nodiscard]] std::string EscapeForDisplay(std::string_view text, bool keep_newlines = false);

}  // namespace cordon

#endif  // CORDON_SDK_COMMAND_H_
