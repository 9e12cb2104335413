#include "integration/support/gated_sandbox.h"

#include <algorithm>

#include "cordon/gate/grants.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::test {

GatedSandbox::GatedSandbox(const std::function<void(ProfileConfig&)>& change, LogSink* log)
    : clock_(std::make_shared<std::atomic<std::int64_t>>(1'000'000)) {
  auto config = PresetConfig("workspace", ground_.workspace());
  REQUIRE(config.ok());
  config->home_root = ground_.home();
  config->command = Access::kGated;
  if (change) change(*config);
  auto profile = Profile::Create(*config);
  INFO(profile.status());
  REQUIRE(profile.ok());
  profile_ = *profile;

  GrantAuthorityOptions authority;
  authority.clock = [clock = clock_] { return std::chrono::milliseconds(clock->load()); };
  ExecutorSetOptions options;
  options.scratch_root = ground_.temporary();
  options.max_executors = 4;
  options.make_authority = HmacGrantAuthorityFactory(authority);
  options.log = log;
  auto set = ExecutorSet::Create(profile_, options);
  INFO(set.status());
  REQUIRE(set.ok());
  set_ = *std::move(set);
  auto executor = set_->For("first");
  REQUIRE(executor.ok());
  executor_ = *executor;
}

std::shared_ptr<Executor> GatedSandbox::AnotherExecutor() {
  auto executor = set_->For("another");
  REQUIRE(executor.ok());
  return *executor;
}

Command GatedSandbox::Noting() const {
  return Command::Shell("echo ran >>" + ground_.PathOf("journal"), ground_.workspace());
}

int GatedSandbox::Noted() const {
  if (!ground_.Exists("journal")) return 0;
  const std::string journal = ground_.Read("journal");
  return static_cast<int>(std::count(journal.begin(), journal.end(), '\n'));
}

absl::StatusOr<Grant> GatedSandbox::GrantFor(const Command& command, std::string_view execution_id,
                                             std::chrono::milliseconds ttl) {
  return executor_->grant_authority()->Issue(executor_->BindingFor(command, execution_id),
                                             GrantSubject{}, ttl);
}

absl::StatusOr<RunResult> GatedSandbox::Run(const Command& command, std::string_view execution_id,
                                            std::vector<Grant> grants) {
  RunOptions options;
  options.execution_id = std::string(execution_id);
  options.grants = std::move(grants);
  options.timeout = std::chrono::seconds(20);
  return executor_->Run(command, options);
}

std::string CodeOf(const absl::Status& status) {
  if (status.ok()) return "ok";
  const auto error = ErrorOf(status);
  return error ? std::string(ErrorCodeName(error->code)) : status.ToString();
}

}  // namespace cordon::test
