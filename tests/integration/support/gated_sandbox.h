// The real parts put together as an application does: a profile, an executor set whose authority
// signs with HMAC, and one executor of it.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_GATED_SANDBOX_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_GATED_SANDBOX_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/profile.h"
#include "integration/support/ground.h"

namespace cordon::test {

class GatedSandbox {
 public:
  // The `workspace` preset with gated commands, after `change`.
  explicit GatedSandbox(const std::function<void(ProfileConfig&)>& change = {},
                        LogSink* log = nullptr);

  [[nodiscard]] const Ground& ground() const { return ground_; }
  [[nodiscard]] const Profile& profile() const { return profile_; }
  [[nodiscard]] ExecutorSet& set() { return *set_; }
  [[nodiscard]] Executor& executor() { return *executor_; }
  [[nodiscard]] std::shared_ptr<Executor> shared_executor() { return executor_; }
  [[nodiscard]] std::shared_ptr<Executor> AnotherExecutor();

  // Moves the authority's clock, which stands still otherwise.
  void Pass(std::chrono::milliseconds time) { *clock_ += time.count(); }

  // A command that leaves one line in `journal`, and how many there are.
  [[nodiscard]] Command Noting() const;
  [[nodiscard]] int Noted() const;

  // A grant to start `command` as `execution_id`, and what it is bound to.
  [[nodiscard]] absl::StatusOr<Grant> GrantFor(
      const Command& command, std::string_view execution_id,
      std::chrono::milliseconds ttl = GrantAuthority::kDefaultTtl);

  [[nodiscard]] absl::StatusOr<RunResult> Run(const Command& command, std::string_view execution_id,
                                              std::vector<Grant> grants);

 private:
  Ground ground_;
  Profile profile_;
  std::shared_ptr<std::atomic<std::int64_t>> clock_;
  std::unique_ptr<ExecutorSet> set_;
  std::shared_ptr<Executor> executor_;
};

// The code of a status, or "ok"; for messages that say more than a number.
[[nodiscard]] std::string CodeOf(const absl::Status& status);

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_GATED_SANDBOX_H_
