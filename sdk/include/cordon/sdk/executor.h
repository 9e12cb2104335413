// Running commands under confinement: the boundary that tools and applications program against.
// cordon/sandbox/executor_set.h makes executors; tests make fakes.

#ifndef CORDON_SDK_EXECUTOR_H_
#define CORDON_SDK_EXECUTOR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/denial.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon {

// How a started command ended. A failing command is a result, never an error.
struct Outcome {
  enum class Kind : std::uint8_t {
    kExited,       // `code` is set.
    kSignaled,     // `signal` is set.
    kTimedOut,     // The time limit ended the tree.
    kOutputLimit,  // The output limit ended the tree.
    kCancelled,    // The caller's stop token, `Signal` or `Close` ended the tree.
  };

  Kind kind = Kind::kExited;
  // The command's own status where there is one, also when it was made to end.
  std::optional<int> code;
  std::optional<int> signal;
  std::chrono::milliseconds wall{0};
  std::chrono::milliseconds cpu{0};  // User and system time of the whole tree.
  std::uint64_t max_rss_bytes = 0;   // The largest process of the tree.
};

[[nodiscard]] std::string_view OutcomeKindName(Outcome::Kind kind);  // "exited", "timed_out", ...

// One stream as it was kept: all of it up to the head's size, then the last bytes.
struct CapturedOutput {
  std::string head;
  std::string tail;                 // What follows the gap; empty when nothing was left out.
  std::uint64_t total_bytes = 0;    // Exact, also of what was not kept.
  std::uint64_t total_lines = 0;    // Newline characters.
  std::uint64_t omitted_bytes = 0;  // 0 when `head` + `tail` is everything.
  bool valid_utf8 = true;           // Of everything, also of what was not kept.
};

struct ConsumedGrant {
  GrantClass grant_class = GrantClass::kCommandStart;
  std::string target;
};

struct RunResult {
  std::string execution_id;
  Outcome outcome;
  CapturedOutput standard_output;
  CapturedOutput standard_error;
  std::vector<Denial> denials;
  // Protected paths that appeared or changed during the run; what could be undone was undone.
  std::vector<std::string> changed_protected;
  std::vector<ConsumedGrant> grants;
  CompileReport report;  // Of this very spawn.
};

struct RunOptions {
  // Names the operation in grants, log and report. Empty: a fresh one.
  std::string execution_id;
  std::vector<Grant> grants;
  // From the start of the command: terminate, 2 s of grace, kill; always the whole tree.
  std::optional<std::chrono::milliseconds> timeout;
  // Both streams together; beyond it the tree is ended.
  std::optional<std::uint64_t> max_output_bytes;
  // Kept of each stream.
  std::size_t head_bytes = 256 * 1024;
  std::size_t tail_bytes = 256 * 1024;
  // A request ends the tree like the time limit does.
  std::stop_token stop;
};

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

  // No effect after the end.
  virtual absl::Status Signal(ProcessSignal signal) = 0;

  // Kills the tree and waits for its end. Idempotent.
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

// Runs commands under one compiled profile. Safe from any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  // Run to the end, with standard input at end of file. Errors: kInvalidCommand; kPolicyDenied when
  // the profile denies commands; kGrantRequired when it gates them and no grant came; a kGrant*
  // code for a grant that does not fit; kNotFound for a missing directory; kPolicyDenied for one
  // that is not readable; kSetupFailed {step, errno}; kUnavailable; kClosed. The time and output
  // limits are outcomes, not errors.
  [[nodiscard]] absl::StatusOr<RunResult> RunArgv(std::string_view working_directory,
                                                  std::vector<std::string> argv,
                                                  const RunOptions& options = {});
  [[nodiscard]] absl::StatusOr<RunResult> RunCommand(std::string_view working_directory,
                                                     std::string shell_text,
                                                     const RunOptions& options = {});
  // `RunArgv` that captures, and lets the command write, at most `max_output_bytes`.
  [[nodiscard]] absl::StatusOr<RunResult> RunArgvLimited(std::string_view working_directory,
                                                         std::vector<std::string> argv,
                                                         std::uint64_t max_output_bytes,
                                                         RunOptions options = {});

  [[nodiscard]] virtual absl::StatusOr<RunResult> Run(const Command& command,
                                                      const RunOptions& options) = 0;

  // Checks admission, redeems and consumes the grants, compiles; spawns nothing. Errors as above.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<PreparedProcess>> PrepareProcess(
      const Command& command, const ProcessOptions& options) = 0;

  // What a grant for `command` must be bound to.
  [[nodiscard]] virtual GrantBinding BindingFor(const Command& command,
                                                std::string_view execution_id) const = 0;
  // Null when the executor was made without an authority; gated commands then cannot run.
  [[nodiscard]] virtual std::shared_ptr<GrantAuthority> grant_authority() const = 0;

  [[nodiscard]] virtual const Profile& profile() const = 0;

  // Host observations, made when the executor was built.
  [[nodiscard]] virtual const CompileReport& Report() const = 0;
  [[nodiscard]] cordon::Level Level() const { return Report().level; }
  [[nodiscard]] cordon::Guarantees Guarantees() const { return Report().guarantees; }
};

}  // namespace cordon

#endif  // CORDON_SDK_EXECUTOR_H_
