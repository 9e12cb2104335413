// The executor of one key: admission, redemption, compilation and the start of commands, in this
// order.

#ifndef CORDON_SANDBOX_SRC_EXECUTOR_H_
#define CORDON_SANDBOX_SRC_EXECUTOR_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "admission.h"
#include "command_network.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/log_sink.h"
#include "execution.h"
#include "live_executions.h"
#include "plan_compiler.h"
#include "prepared_spawn.h"

namespace cordon::internal {

// Safe from any thread.
class SandboxExecutor final : public Executor {
 public:
  struct Parts {
    std::string executor_id;
    PlanInputs plan_inputs;  // With the profile.
    CompileReport report;    // But for the entries about files.
    std::vector<std::string> environment;
    std::shared_ptr<Launcher> launcher;
    std::shared_ptr<PublishedNames> published_names;  // Of the set.
    std::shared_ptr<Observer> observer;               // Null when nothing is observed.
    std::shared_ptr<GrantAuthority> authority;        // May be null.
    std::shared_ptr<CommandNetworks> networks;        // Prepared; null where there are none.
    std::shared_ptr<EgressProxy> egress;              // Null: the network is not served.
    bool share_network = false;                       // `ExecutorSetOptions::share_network`.
    LogSink* log = nullptr;                           // Borrowed until `Close`.
  };

  // Compiles and registers the profile's own plan.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<SandboxExecutor>> Create(Parts parts);

  absl::StatusOr<RunResult> Run(const Command& command, const RunOptions& options) override;
  absl::StatusOr<std::unique_ptr<PreparedProcess>> PrepareProcess(
      const Command& command, const ProcessOptions& options) override;
  GrantBinding BindingFor(const Command& command, std::string_view execution_id) const override;
  std::shared_ptr<GrantAuthority> grant_authority() const override { return parts_.authority; }
  const Profile& profile() const override { return parts_.plan_inputs.profile; }
  const CompileReport& Report() const override { return report_; }

  // Makes the sandbox of the first command. Returns kSetupFailed {step, errno} when this host
  // cannot.
  [[nodiscard]] absl::Status Prove();

  // Begins it. The first command waits for it before its grants are spent, and is refused with
  // kUnavailable when this host cannot make it.
  [[nodiscard]] absl::Status BeginProof();

  // Has what was found on the host just now hold for the first command, if that comes at once.
  void HoldForFirst() { plans_.HoldForNext(); }

  // Ends everything that runs, prevents what is prepared from starting, revokes the grants. Returns
  // kInternal when the end of a tree cannot be proved; can be tried again.
  [[nodiscard]] absl::Status Close();

 private:
  explicit SandboxExecutor(Parts parts);

  [[nodiscard]] absl::StatusOr<PreparedSpawn> Prepare(const Command& command,
                                                      const std::string& execution_id,
                                                      absl::Span<const Grant> grants);
  [[nodiscard]] absl::StatusOr<PreparedSpawn> PrepareUnlogged(const Command& command,
                                                              const std::string& execution_id,
                                                              absl::Span<const Grant> grants);
  // Null when the network is not served.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<CommandNetwork>> OpenNetwork(
      const std::string& execution_id, const CommandAdmission& admission) const;
  void Observe(const CommandAdmission& admission, const ReadyPlan& plan,
               const CommandNetwork* network, PreparedSpawn& spawn) const;
  // `directory`: the command's own without links, or why that cannot be told.
  [[nodiscard]] GrantBinding BindingIn(const Command& command, std::string_view execution_id,
                                       const absl::StatusOr<std::string>& directory) const;
  [[nodiscard]] absl::StatusOr<Command> InDirectory(
      const Command& command, const absl::StatusOr<std::string>& directory) const;
  [[nodiscard]] absl::Status CheckDirectory(const PathPolicy& paths,
                                            const std::string& directory) const;
  [[nodiscard]] absl::Status AwaitProof(const CommandNetwork* network);
  [[nodiscard]] absl::Status Spend(CommandAdmission& admission,
                                   const std::string& execution_id) const;
  void LogRefusal(const std::string& execution_id, bool had_grants,
                  const absl::Status& refusal) const;

  const Parts parts_;
  PlanCompiler plans_;
  CompileReport report_;
  std::atomic<bool> owes_proof_ = false;
  const std::shared_ptr<LiveExecutions> live_ = std::make_shared<LiveExecutions>();
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_EXECUTOR_H_
