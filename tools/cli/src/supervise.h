// Drives one started command of `cordon run`: passes its streams through, forwards signals, keeps
// the time and output limits.

#ifndef CORDON_TOOLS_CLI_SRC_SUPERVISE_H_
#define CORDON_TOOLS_CLI_SRC_SUPERVISE_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/executor.h"

namespace cordon::cli {

class TerminalPause;

struct SupervisionLimits {
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::uint64_t> max_output_bytes;
};

// Blocks the signals that are forwarded or followed and ignores SIGPIPE, for the life of the
// process. Before any thread is started.
void PrepareSignals();

// How to connect the command's streams: standard input is our own unless that is a terminal or a
// folder; output always passes through a pipe, so that no descriptor of ours reaches the command.
[[nodiscard]] StreamOption StandardInputOption();

// Runs to the end of the tree and of its output. The result's outcome says which limit, or a signal
// to us, ended it. Nothing passes while `pause` is on, unless the tree has ended.
[[nodiscard]] absl::StatusOr<RunResult> Supervise(Process& process, const SupervisionLimits& limits,
                                                  const TerminalPause& pause);

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_SUPERVISE_H_
