// Reads shell text as simple commands, conservatively: whatever two shells could read differently,
// or whose meaning is only known when it runs, is not read at all but called opaque. Pure.
//
// Understood: words with single quotes, double quotes and backslashes; comments; assignments in
// front of a command; redirections with `<`, `>`, `>>` and of one descriptor to another; the
// operators `&& || ; & | |&` and newline; a backslash at the end of a line, between words; `( )`
// and `{ }` around a list that is no part of a pipe, in the background or redirected. A word with
// `$NAME`, a glob or a leading `~` is read but not exact: it stays an argument, or some, of this
// command, and its text is unknown.
//
// Opaque: substitutions, other expansions, here-documents, functions, other reserved words such
// as `if` and `!`, other braces, control characters, invalid UTF-8.

#ifndef CORDON_GATE_SRC_SHELL_WORDS_H_
#define CORDON_GATE_SRC_SHELL_WORDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::internal {

struct ShellWord {
  std::string text;     // After quote removal; meaningful when `exact`.
  bool exact = true;    // Whether the command gets exactly this one word.
  bool quoted = false;  // Whether any part was quoted.
  // Not exact for a glob alone, behind a first character that every match keeps: some words, all
  // of which start with the first character of `text`.
  bool glob = false;
  // Not exact: what a program such as `xargs` reads. Any number of words, options among them.
  bool from_input = false;

  friend bool operator==(const ShellWord&, const ShellWord&) = default;
};

struct Redirection {
  enum class Kind : std::uint8_t { kInput, kOutput, kAppend, kDuplicate };
  Kind kind = Kind::kInput;
  ShellWord target;  // A file, or for kDuplicate a descriptor's number or `-`.

  friend bool operator==(const Redirection&, const Redirection&) = default;
};

struct SimpleCommand {
  std::vector<std::string> assigned_names;  // `NAME=VALUE` in front.
  std::vector<ShellWord> words;             // May be empty after assignments or redirections.
  std::vector<Redirection> redirections;
  std::vector<std::string> wrappers;  // Programs that run this one; filled in by `Unwrap`.

  friend bool operator==(const SimpleCommand&, const SimpleCommand&) = default;
};

// What stands between a simple command and the next, or after the last one. The commands of a group
// are listed like all others; what follows the group stands behind its last command.
enum class Joiner : std::uint8_t { kEnd, kAnd, kOr, kSequence, kPipe, kPipeBoth, kBackground };

struct ShellText {
  bool opaque = false;
  std::string opaque_reason;
  // In order, each followed by the joiner of the same index. Empty when opaque.
  std::vector<SimpleCommand> commands;
  std::vector<Joiner> joiners;
};

[[nodiscard]] ShellText ReadShellText(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_SHELL_WORDS_H_
