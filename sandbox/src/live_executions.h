// The executions of one executor that have not ended, those included whose end cannot be proved.

#ifndef CORDON_SANDBOX_SRC_LIVE_EXECUTIONS_H_
#define CORDON_SANDBOX_SRC_LIVE_EXECUTIONS_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "execution.h"

namespace cordon::internal {

// What an executor has running. Safe from any thread.
class LiveExecutions {
 public:
  // Makes an execution with `spawn` and keeps it until its end. Returns kClosed, without calling
  // `spawn`, once `Close` was called. Before that, trees whose end could not be proved are tried
  // again.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<Execution>> Start(
      const std::function<absl::StatusOr<std::shared_ptr<Execution>>()>& spawn);

  void Forget(const Execution* execution);

  [[nodiscard]] bool closed();

  // Prevents every later start, waits for those that are under way, and ends what runs. Returns
  // kInternal when an end cannot be proved; what is left is kept and can be tried again.
  [[nodiscard]] absl::Status Close();

 private:
  void RetryQuarantined();

  std::mutex mutex_;
  std::condition_variable all_started_;
  bool closed_ = false;
  int starting_ = 0;
  std::vector<std::shared_ptr<Execution>> running_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LIVE_EXECUTIONS_H_
