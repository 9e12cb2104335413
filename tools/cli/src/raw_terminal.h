// The caller's terminal while a command has one of its own: raw, so that every key reaches the
// command's, and as it was before once this is gone, also when this program is killed.

#ifndef CORDON_TOOLS_CLI_SRC_RAW_TERMINAL_H_
#define CORDON_TOOLS_CLI_SRC_RAW_TERMINAL_H_

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "cordon/sdk/unique_fd.h"

namespace cordon::cli {

// A child that does nothing but wait for the end of this program, and puts the terminal's mode back
// then, if it is still as this program has set it. Where there can be none, there is none.
class TerminalRescue {
 public:
  TerminalRescue(int terminal, const termios& before, const termios& raw);
  ~TerminalRescue();
  TerminalRescue(const TerminalRescue&) = delete;
  TerminalRescue& operator=(const TerminalRescue&) = delete;

 private:
  UniqueFd alive_;  // The child sees its end, or a byte when it is not needed any more.
  pid_t child_ = -1;
};

// Makes `fd` raw if it is a terminal, and restores it in the end. Used by one thread at a time.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);  // Borrowed.
  ~RawTerminal() { Restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // For good.
  void Restore();
  // For a while.
  void Suspend();
  void Resume();

 private:
  void Set(const termios& mode) const;

  const int fd_;
  std::optional<termios> before_;
  termios raw_{};
  std::optional<TerminalRescue> rescue_;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_RAW_TERMINAL_H_
