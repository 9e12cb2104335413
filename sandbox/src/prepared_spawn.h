// A command whose grants are spent and whose plan is registered: everything but the start.

#ifndef CORDON_SANDBOX_SRC_PREPARED_SPAWN_H_
#define CORDON_SANDBOX_SRC_PREPARED_SPAWN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/unique_fd.h"
#include "execution.h"
#include "live_executions.h"
#include "plan.h"

namespace cordon::internal {

struct PreparedSpawn {
  Command command;  // With its directory resolved.
  CommandPlan plan;
  PathPolicy paths;
  ExecutionContext context;
};

// The command's three streams, borrowed.
struct SpawnStreams {
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
};

// /dev/null for reading and writing.
[[nodiscard]] absl::StatusOr<UniqueFd> OpenNull();

// Logs "spawn" and hands the command over to the launcher. Returns kLogFailed when that cannot be
// logged, kClosed after `live` was closed; nothing is started then.
[[nodiscard]] absl::StatusOr<std::shared_ptr<Execution>> StartPrepared(
    const std::shared_ptr<LiveExecutions>& live, PreparedSpawn spawn, const SpawnStreams& streams);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PREPARED_SPAWN_H_
