// A started command with live streams. cordon/sdk/executor.h prepares them.

#ifndef CORDON_SDK_PROCESS_H_
#define CORDON_SDK_PROCESS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/run_result.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon {

// What to do with one of the three standard streams of a prepared process.
struct StreamOption {
  enum class Kind : std::uint8_t {
    kNull,  // /dev/null
    kPipe,  // A new pipe; the other end is taken from the `Process`.
    kFd,    // `fd` itself, which is borrowed until `Start` returns.
  };
  Kind kind = Kind::kNull;
  int fd = -1;
};

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

struct ProcessOptions {
  std::string execution_id;
  std::vector<Grant> grants;
  StreamOption standard_input;
  StreamOption standard_output{StreamOption::Kind::kPipe, -1};
  StreamOption standard_error{StreamOption::Kind::kPipe, -1};
  // A pseudo-terminal of the command's own in the place of the three streams, which are ignored
  // then. It becomes its controlling terminal. There is no fall-back to pipes.
  std::optional<TerminalSize> terminal = std::nullopt;
};

enum class ProcessSignal : std::uint8_t {
  kInterrupt,  // SIGINT to every process of the tree; may be repeated.
  kTerminate,  // SIGTERM to every process of the tree, then kill after `kGrace`. Once.
  kKill,       // The whole tree, at once.
};

// A started command with live streams. Destroying it kills the tree and waits for its end. Safe
// from any thread, but for the `Take` functions.
class Process {
 public:
  static constexpr std::chrono::milliseconds kGrace = std::chrono::seconds(2);

  virtual ~Process() = default;

  // The caller's ends of the pipes; invalid when the stream is no pipe or was taken before. Closing
  // standard input is end of file for the command. Born with O_CLOEXEC, blocking.
  [[nodiscard]] virtual UniqueFd TakeStandardInput() = 0;
  [[nodiscard]] virtual UniqueFd TakeStandardOutput() = 0;
  [[nodiscard]] virtual UniqueFd TakeStandardError() = 0;

  // The other side of the command's terminal: what is written are keys, what is read is what it
  // shows. At the end of the tree read(2) fails with EIO, which is its end of file. Invalid without
  // a terminal or when it was taken before. Born with O_CLOEXEC, blocking.
  [[nodiscard]] virtual UniqueFd TakeTerminal();

  // The new size of the terminal, of which the command is told by SIGWINCH. Returns kInvalidOption
  // for a command without one and for a size of 0. No effect after the end.
  virtual absl::Status Resize(TerminalSize size);

  // Becomes readable (POLLIN or POLLHUP) once the tree has ended; owned by the process object. For
  // event loops: poll it, then call `Wait`.
  [[nodiscard]] virtual int exit_fd() const = 0;

  // The end of the whole tree. Cached; many may wait; giving up waiting kills nothing. Returns
  // kTimeLimit at `deadline` and kSetupFailed when the command could never be started. Its
  // `outcome` is kExited, kSignaled, or kCancelled when `Signal` or `Close` came first; the
  // captured streams are empty, the caller has read them.
  [[nodiscard]] virtual absl::StatusOr<RunResult> Wait(
      std::chrono::steady_clock::time_point deadline =
          std::chrono::steady_clock::time_point::max()) = 0;
  // The same, and kCancelled once `stop` is requested.
  [[nodiscard]] absl::StatusOr<RunResult> Wait(std::chrono::steady_clock::time_point deadline,
                                               std::stop_token stop);

  // No effect after the end.
  virtual absl::Status Signal(ProcessSignal signal) = 0;

  // Kills the tree and waits for its end, at most some seconds. Returns kInternal when that was not
  // seen by then; the executor keeps what is left (`RunResult::end_proved`), and another call tries
  // again. Idempotent.
  virtual absl::Status Close() = 0;
};

// A command whose grants are consumed and whose policy is compiled, but which has not started.
// Destroying it starts nothing; its grants stay spent.
class PreparedProcess {
 public:
  virtual ~PreparedProcess() = default;

  // Paths as they will be resolved, grants included; frozen, shares nothing with later grants.
  [[nodiscard]] virtual const PathPolicy& effective_paths() const = 0;

  // Once. Returns kSetupFailed with the step and errno, kClosed after the executor was closed.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Process>> Start() = 0;
};

// Wait for one or all of several processes, of any executors. Nothing is killed by giving up, and
// nothing is taken from the processes: call `Wait` for their results. Errors: kInvalidOption for no
// process at all or a null one, kTimeLimit at `deadline`, kCancelled once `stop` is requested.
// Returns the lowest index of those that have ended.
[[nodiscard]] absl::StatusOr<std::size_t> WaitForAny(absl::Span<Process* const> processes,
                                                     std::chrono::steady_clock::time_point deadline,
                                                     std::stop_token stop = {});
[[nodiscard]] absl::Status WaitForAll(absl::Span<Process* const> processes,
                                      std::chrono::steady_clock::time_point deadline,
                                      std::stop_token stop = {});

}  // namespace cordon

#endif  // CORDON_SDK_PROCESS_H_
