// What became of a command, by what was heard of its tree.

#ifndef CORDON_SANDBOX_SRC_EXECUTION_RESULT_H_
#define CORDON_SANDBOX_SRC_EXECUTION_RESULT_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "command_cgroups.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/log_sink.h"
#include "deadline_poll.h"
#include "spawn_event.h"

namespace cordon::internal {

struct TreeHistory {
  SteadyTime handed_over = std::chrono::steady_clock::now();
  std::optional<SteadyTime> started;
  std::optional<SpawnEvent> failed;  // The first that was said, or found, to keep it from running.
  std::optional<SpawnEvent> ended;   // The last word of the first process.
  std::optional<Outcome::Kind> ending_as;
  bool destroyed = false;  // From outside.

  // One of which it was found too late that it cannot be served may have run for a moment.
  [[nodiscard]] bool is_set_up_failure() const {
    return failed.has_value() || (!started.has_value() && !ended.has_value());
  }
};

// Why it never ran. `count` of its cgroup, if it has one. Returns kSetupFailed, kClosed.
[[nodiscard]] absl::Status SetupFailure(const TreeHistory& history, const TreeCount& count);

// Of one that did, up to now.
[[nodiscard]] Outcome OutcomeOf(const TreeHistory& history, const TreeCount& count);

// Which limit ended it, if one did.
[[nodiscard]] std::optional<ReportEntry> LimitEntry(const TreeHistory& history,
                                                    const TreeCount& count);

// That its calls are not looked at, by the errno that kept it from that.
[[nodiscard]] ReportEntry UnobservedEntry(int error_number);

// That something of it may still run.
void MarkUnproved(RunResult& result);

// The log's record of its end.
[[nodiscard]] LogRecord ExitRecord(const std::string& execution_id,
                                   const absl::StatusOr<RunResult>& result);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_EXECUTION_RESULT_H_
