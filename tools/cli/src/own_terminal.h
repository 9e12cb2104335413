// The caller's terminal while a command has one of its own: raw, so that every key reaches the
// command's, and as it was before once this is gone. Used by one thread.

#ifndef CORDON_TOOLS_CLI_SRC_OWN_TERMINAL_H_
#define CORDON_TOOLS_CLI_SRC_OWN_TERMINAL_H_

#include <termios.h>

#include <optional>

#include "absl/status/statusor.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/unique_fd.h"
#include "supervise.h"

namespace cordon::cli {

enum class TerminalChoice { kWhenAtTerminal, kAlways, kNever };

// The size of the terminal that the command gets; nothing when it gets none.
[[nodiscard]] std::optional<TerminalSize> ChooseTerminal(TerminalChoice choice);

// Drives a command that has a terminal of its own until the end of its tree: keys go in, what it
// shows comes out, and its size follows that of the caller's terminal. What comes out is written to
// standard output and never to a terminal's input (no TIOCSTI).
[[nodiscard]] absl::StatusOr<RunResult> SuperviseTerminal(Process& process,
                                                          const SupervisionLimits& limits);

// Makes `fd` raw if it is a terminal, and restores it in the end.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);  // Borrowed.
  ~RawTerminal() { Restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  void Restore();

 private:
  const int fd_;
  std::optional<termios> before_;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_OWN_TERMINAL_H_
