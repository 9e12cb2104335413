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
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/process.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/run_result.h"

namespace cordon {

// Regular files, open for writing, that get a copy of what a command writes beyond what its result
// keeps; borrowed until the run is over. -1: none. Both may be one.
struct SpoolFiles {
  int standard_output = -1;
  int standard_error = -1;
  // Of both streams together. What comes later, or cannot be written (a full disk), is not spooled;
  // `CapturedOutput::spooled_bytes` tells. It ends nothing.
  std::uint64_t max_bytes = std::uint64_t{64} * 1024 * 1024;
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
  // One pipe for both streams, so that what they hold is in the order in which it was written. All
  // of it is the result's `standard_output` then.
  bool merge_output = false;
  SpoolFiles spool;
  // A request ends the tree like the time limit does.
  std::stop_token stop;
};

// Runs commands under one compiled profile. Safe from any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  // Run to the end, with standard input at end of file. Errors: kInvalidCommand; kPolicyDenied when
  // the profile denies commands; kGrantRequired when it gates them and no grant came; a kGrant*
  // code for a grant that does not fit; kNotFound for a missing directory; kPolicyDenied for one
  // that is not readable; kSetupFailed {step, errno}; kUnavailable; kClosed. The time and output
  // limits are outcomes, not errors. kInvalidOption for a spool that is no regular file.
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
