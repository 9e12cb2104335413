#include "cordon/sdk/executor.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace cordon {
namespace {

// Records what it was asked to run.
class RecordingExecutor : public Executor {
 public:
  absl::StatusOr<RunResult> Run(const Command& command, const RunOptions& options) override {
    last_command = command;
    last_options = options;
    return RunResult{};
  }
  absl::StatusOr<std::unique_ptr<PreparedProcess>> PrepareProcess(const Command&,
                                                                  const ProcessOptions&) override {
    return absl::UnimplementedError("not needed here");
  }
  GrantBinding BindingFor(const Command&, std::string_view) const override { return {}; }
  std::shared_ptr<GrantAuthority> grant_authority() const override { return nullptr; }
  const Profile& profile() const override { return profile_; }
  const CompileReport& Report() const override { return report; }

  Command last_command;
  RunOptions last_options;
  CompileReport report;

 private:
  Profile profile_;
};

TEST_CASE("RunArgv runs words and RunCommand runs shell text") {
  RecordingExecutor executor;
  RunOptions options;
  options.execution_id = "e";
  CHECK(executor.RunArgv("/w", {"ls", "-l"}, options).ok());
  CHECK(executor.last_command == Command::Argv({"ls", "-l"}, "/w"));
  CHECK(executor.last_options.execution_id == "e");
  CHECK(executor.RunCommand("/w", "ls -l").ok());
  CHECK(executor.last_command == Command::Shell("ls -l", "/w"));
  CHECK(executor.last_options.execution_id.empty());
}

TEST_CASE("RunArgvLimited limits what may be written and keeps all of that") {
  RecordingExecutor executor;
  CHECK(executor.RunArgvLimited("/w", {"ls"}, 1000000).ok());
  CHECK(executor.last_command == Command::Argv({"ls"}, "/w"));
  CHECK(executor.last_options.max_output_bytes == 1000000U);
  CHECK(executor.last_options.head_bytes == 1000000U);
  CHECK(executor.last_options.tail_bytes == 0U);
}

TEST_CASE("the lower of two output limits holds") {
  RecordingExecutor executor;
  RunOptions options;
  options.max_output_bytes = 10;
  CHECK(executor.RunArgvLimited("/w", {"ls"}, 1000, options).ok());
  CHECK(executor.last_options.max_output_bytes == 10U);
  options.max_output_bytes = 5000;
  CHECK(executor.RunArgvLimited("/w", {"ls"}, 1000, options).ok());
  CHECK(executor.last_options.max_output_bytes == 1000U);
}

TEST_CASE("level and guarantees are those of the report") {
  RecordingExecutor executor;
  executor.report.level = Level::kDegraded;
  executor.report.guarantees.env_scrub = true;
  CHECK(executor.Level() == Level::kDegraded);
  CHECK(executor.Guarantees().env_scrub);
}

TEST_CASE("the names of outcomes are pinned") {
  CHECK(OutcomeKindName(Outcome::Kind::kExited) == "exited");
  CHECK(OutcomeKindName(Outcome::Kind::kSignaled) == "signaled");
  CHECK(OutcomeKindName(Outcome::Kind::kTimedOut) == "timed_out");
  CHECK(OutcomeKindName(Outcome::Kind::kOutputLimit) == "output_limit");
  CHECK(OutcomeKindName(Outcome::Kind::kCancelled) == "cancelled");
}

}  // namespace
}  // namespace cordon
