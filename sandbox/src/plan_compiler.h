// Turns the paths that a command may use into a plan that the launcher knows. One per executor.

#ifndef CORDON_SANDBOX_SRC_PLAN_COMPILER_H_
#define CORDON_SANDBOX_SRC_PLAN_COMPILER_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "admission.h"
#include "command_cgroups.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "launcher.h"
#include "network_namespaces.h"
#include "plan.h"
#include "ready_sandboxes.h"
#include "registered_plan.h"
#include "resource_limits.h"
#include "view.h"

namespace cordon::internal {

// What the plans of one executor have in common.
struct PlanInputs {
  Profile profile;
  ScratchFolders folders;
  CompiledLimits limits;
  std::string seccomp_program;
  std::string observer_program;
  std::string reads_observer_program;  // For views where `WritablePlaces::HasClosed`.
  bool lists_refusals = false;         // Of what that program hands over.
  bool lists_paths = false;            // Refused paths among them.
  bool mediates = false;          // With the landlock tier: see MetadataMediator, ProcessFiles.
  bool has_unix_sockets = false;  // With the landlock tier: see UnixMediator. Never without both
                                  // `lists_refusals` and `mediates`.
  int landlock_abi = 0;
  Tier tier = Tier::kNamespaces;    // When the profile is not unconfined.
  std::size_t ready_sandboxes = 0;  // How many are kept waiting for the profile's own plan.
  std::shared_ptr<CommandCgroups> cgroups = {};  // Null where no limit is held by one.
};

// A plan for one command, and what to look at when that has ended.
struct ReadyPlan {
  std::shared_ptr<const RegisteredPlan> registered;  // Or not yet.
  std::shared_ptr<ViewCompiler> compiler;            // Null when unconfined.
  std::shared_ptr<const CompiledView> view;          // Null when unconfined.
  std::shared_ptr<ReadySandboxes> ready;             // Null where none are made.
  std::shared_ptr<CommandCgroups> cgroups;           // `PlanInputs::cgroups`
  std::shared_ptr<CommandCgroup> cgroup;             // The command's own, once it is started.

  // About files.
  [[nodiscard]] std::vector<ReportEntry> entries() const;
  // After the command: undoes what it created under protected names, and says which changed.
  [[nodiscard]] std::vector<std::string> ChangedProtected() const;
};

// Safe from any thread.
class PlanCompiler {
 public:
  PlanCompiler(PlanInputs inputs, std::shared_ptr<Launcher> launcher);

  // For the profile's own paths. The same plan as long as nothing on the host changed that it
  // depends on; not registered before it is needed, since ready sandboxes have their own.
  [[nodiscard]] absl::StatusOr<ReadyPlan> Compile();

  // After `Compile`: see `ViewCompiler::HoldForNext`.
  void HoldForNext();

  // After `Compile`: begins a sandbox of the profile's own plan in `network` (null: in one of its
  // own), which serves the first command there.
  [[nodiscard]] absl::Status BeginProof(const std::shared_ptr<NetworkNamespaces>& network);

  // Waits for it, begun if need be. Returns kSetupFailed {step, errno} when it cannot be made.
  [[nodiscard]] absl::Status Prove(const std::shared_ptr<NetworkNamespaces>& network);

  // Ends the sandboxes that wait for a command, and makes no more.
  void CloseReady();

  // For one command with file grants. `targets` are the objects that `paths` was granted; a plan
  // that would mount another object in their place fails when the command is started.
  [[nodiscard]] absl::StatusOr<ReadyPlan> CompileGranted(
      const PathPolicy& paths, absl::Span<const GrantedTarget> targets) const;

 private:
  [[nodiscard]] std::shared_ptr<ReadySandboxes> OwnReady();
  void ReplaceReadyLocked(SandboxPlan plan);
  [[nodiscard]] SandboxPlan PlanFor(const CompiledView& view) const;

  const PlanInputs inputs_;
  const std::shared_ptr<Launcher> launcher_;
  std::mutex mutex_;
  ReadyPlan own_;  // The last one of `Compile`.
  bool closed_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAN_COMPILER_H_
