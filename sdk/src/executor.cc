#include "cordon/sdk/executor.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cordon {

std::string_view OutcomeKindName(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kExited:
      return "exited";
    case Outcome::Kind::kSignaled:
      return "signaled";
    case Outcome::Kind::kTimedOut:
      return "timed_out";
    case Outcome::Kind::kOutputLimit:
      return "output_limit";
    case Outcome::Kind::kCancelled:
      return "cancelled";
  }
  return "exited";
}

absl::StatusOr<RunResult> Executor::RunArgv(std::string_view working_directory,
                                            std::vector<std::string> argv,
                                            const RunOptions& options) {
  return Run(Command::Argv(std::move(argv), std::string(working_directory)), options);
}

absl::StatusOr<RunResult> Executor::RunCommand(std::string_view working_directory,
                                               std::string shell_text, const RunOptions& options) {
  return Run(Command::Shell(std::move(shell_text), std::string(working_directory)), options);
}

absl::StatusOr<RunResult> Executor::RunArgvLimited(std::string_view working_directory,
                                                   std::vector<std::string> argv,
                                                   std::uint64_t max_output_bytes,
                                                   RunOptions options) {
  const std::uint64_t limit =
      std::min(max_output_bytes, options.max_output_bytes.value_or(max_output_bytes));
  options.max_output_bytes = limit;
  // Everything that may be written is kept, in one piece.
  options.head_bytes = static_cast<std::size_t>(
      std::min<std::uint64_t>(limit, std::numeric_limits<std::size_t>::max()));
  options.tail_bytes = 0;
  return RunArgv(working_directory, std::move(argv), options);
}

}  // namespace cordon
