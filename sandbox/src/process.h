// The processes that `Executor::PrepareProcess` hands out: live streams over an execution.

#ifndef CORDON_SANDBOX_SRC_PROCESS_H_
#define CORDON_SANDBOX_SRC_PROCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/unique_fd.h"
#include "prepared_spawn.h"

namespace cordon::internal {

// Both ends of the streams that were asked for; made before any grant is spent.
struct ProcessStreams {
  UniqueFd own[3];  // Held for the command: pipe ends or /dev/null; else invalid.
  int borrowed[3] = {-1, -1, -1};
  UniqueFd callers[3];  // The caller's pipe ends.
};

// Returns kInvalidOption for a descriptor that is not open.
[[nodiscard]] absl::StatusOr<ProcessStreams> MakeProcessStreams(const ProcessOptions& options);

[[nodiscard]] std::unique_ptr<PreparedProcess> MakePreparedProcess(
    std::shared_ptr<LiveExecutions> live, PreparedSpawn spawn, ProcessStreams streams);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PROCESS_H_
