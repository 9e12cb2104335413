// An executor that runs nothing: it keeps what it was asked and answers what the test laid ready.
#ifndef CORDON_TESTS_SUPPORT_FAKE_EXECUTOR_H_
#define CORDON_TESTS_SUPPORT_FAKE_EXECUTOR_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/status.h"

namespace cordon::test {

class FakeExecutor final : public Executor {
 public:
  // The grants as texts: a test may look at what an application must not log.
  struct Call {
    Command command;
    RunOptions options;
    std::vector<std::string> tokens;
  };

  explicit FakeExecutor(Profile profile, std::string id = "fake-executor",
                        std::shared_ptr<GrantAuthority> authority = nullptr)
      : profile_(std::move(profile)), id_(std::move(id)), authority_(std::move(authority)) {}

  // The answer to every later run.
  void AnswerWith(absl::StatusOr<RunResult> answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  void set_report(CompileReport report) { report_ = std::move(report); }

  [[nodiscard]] std::vector<Call> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  absl::StatusOr<RunResult> Run(const Command& command, const RunOptions& options) override {
    const std::lock_guard lock(mutex_);
    Call call{command, options, {}};
    for (const Grant& grant : options.grants) call.tokens.push_back(grant.token());
    calls_.push_back(std::move(call));
    return answer_;
  }
  absl::StatusOr<std::unique_ptr<PreparedProcess>> PrepareProcess(const Command&,
                                                                  const ProcessOptions&) override {
    return MakeError(ErrorCode::kUnavailable, "a fake executor prepares nothing");
  }
  GrantBinding BindingFor(const Command& command, std::string_view execution_id) const override {
    GrantBinding binding;
    binding.executor_id = id_;
    binding.execution_id = std::string(execution_id);
    binding.command_digest = CommandDigest(command);
    binding.working_directory = command.working_directory;
    binding.profile_fingerprint = profile_.Fingerprint();
    binding.route_fingerprint = "direct";
    return binding;
  }
  std::shared_ptr<GrantAuthority> grant_authority() const override { return authority_; }
  const Profile& profile() const override { return profile_; }
  const CompileReport& Report() const override { return report_; }

 private:
  const Profile profile_;
  const std::string id_;
  const std::shared_ptr<GrantAuthority> authority_;
  CompileReport report_;
  mutable std::mutex mutex_;
  std::vector<Call> calls_;
  absl::StatusOr<RunResult> answer_ = RunResult{};
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_SUPPORT_FAKE_EXECUTOR_H_
