// A command that has a terminal of its own, between that and the caller's. Used by one thread.

#ifndef CORDON_TOOLS_CLI_SRC_OWN_TERMINAL_H_
#define CORDON_TOOLS_CLI_SRC_OWN_TERMINAL_H_

#include <optional>

#include "absl/status/statusor.h"
#include "cordon/sdk/executor.h"
#include "supervise.h"

namespace cordon::cli {

enum class TerminalChoice { kWhenAtTerminal, kAlways, kNever };

// The size of the terminal that the command gets; nothing when it gets none.
[[nodiscard]] std::optional<TerminalSize> ChooseTerminal(TerminalChoice choice);

// Drives a command that has a terminal of its own until the end of its tree: keys go in, what it
// shows comes out, and its size follows that of the caller's terminal. What comes out is written to
// standard output and never to a terminal's input (no TIOCSTI). Nothing passes while `pause` is on.
[[nodiscard]] absl::StatusOr<RunResult> SuperviseTerminal(Process& process,
                                                          const SupervisionLimits& limits,
                                                          TerminalPause& pause);

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_OWN_TERMINAL_H_
