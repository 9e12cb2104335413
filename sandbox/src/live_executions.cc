#include "live_executions.h"

#include <utility>

#include "cordon/sdk/status.h"

namespace cordon::internal {

absl::StatusOr<std::shared_ptr<Execution>> LiveExecutions::Start(
    const std::function<absl::StatusOr<std::shared_ptr<Execution>>()>& spawn) {
  RetryQuarantined();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return MakeError(ErrorCode::kClosed, "the executor is closed");
    ++starting_;
  }
  // Not under the lock: what ends meanwhile is forgotten meanwhile.
  absl::StatusOr<std::shared_ptr<Execution>> execution = spawn();
  const std::lock_guard lock(mutex_);
  if (execution.ok()) running_.push_back(*execution);
  if (--starting_ == 0) all_started_.notify_all();
  return execution;
}

void LiveExecutions::Forget(const Execution* execution) {
  const std::lock_guard lock(mutex_);
  std::erase_if(running_, [execution](const auto& other) { return other.get() == execution; });
}

bool LiveExecutions::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void LiveExecutions::RetryQuarantined() {
  std::vector<std::shared_ptr<Execution>> quarantined;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& execution : running_) {
      if (execution->is_quarantined()) quarantined.push_back(execution);
    }
  }
  for (const auto& execution : quarantined) execution->Retry();
}

absl::Status LiveExecutions::Close() {
  std::vector<std::shared_ptr<Execution>> running;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    all_started_.wait(lock, [this] { return starting_ == 0; });
    running = running_;
  }
  // All at once first, so that the waits below overlap.
  for (const auto& execution : running) {
    execution->EndingAs(Outcome::Kind::kCancelled);
    execution->Destroy();
  }
  absl::Status status;
  for (const auto& execution : running) status.Update(execution->Close());
  return status;
}

}  // namespace cordon::internal
