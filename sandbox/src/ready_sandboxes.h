// Sandboxes of one plan that are made ahead and wait for a command, so that a command starts
// without waiting for namespaces and mounts.
//
// Each runs one command, or none, and is gone: nothing can pass from one command to another. Until
// then only the launcher's own program has run in it. It holds the very objects that the plan's
// paths lead to, and is given up as soon as one of them leads elsewhere (plan_sources.h).

#ifndef CORDON_SANDBOX_SRC_READY_SANDBOXES_H_
#define CORDON_SANDBOX_SRC_READY_SANDBOXES_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "command_cgroups.h"
#include "launcher.h"
#include "network_namespaces.h"
#include "plan.h"
#include "plan_sources.h"
#include "registered_plan.h"

namespace cordon::internal {

struct StartedInReady {
  SpawnedSandbox sandbox;
  // What it was made of: to be kept until its end.
  std::shared_ptr<const RegisteredPlan> plan;
  std::shared_ptr<CommandCgroup> cgroup;  // Its own; null without.
};

// Safe from any thread.
class ReadySandboxes {
 public:
  // At most `count` are kept waiting. None is made before `Refill`. Each in a cgroup of its own of
  // `cgroups`, unless that is null.
  ReadySandboxes(std::shared_ptr<Launcher> launcher, SandboxPlan plan, std::size_t count,
                 std::shared_ptr<CommandCgroups> cgroups = nullptr);

  // Starts `command`, which adds nothing to the view, in one of them, if there is one in `network`
  // (null: a network of its own) that may be used; waits for it when it is being made. Nothing:
  // start it in a new one. The streams are borrowed.
  [[nodiscard]] std::optional<StartedInReady> Start(
      const CommandPlan& command, int standard_input, int standard_output, int standard_error,
      const std::shared_ptr<NetworkNamespaces>& network = nullptr);

  // Has one made in `network`, whatever the count, without waiting for it.
  [[nodiscard]] absl::Status Begin(const std::shared_ptr<NetworkNamespaces>& network);

  // Waits until one in `network`, begun if there is none, is complete: proof that all that the plan
  // needs can be had here. It serves the next command in that network. Returns kSetupFailed {step,
  // errno}, or kUnavailable when the launcher is gone.
  [[nodiscard]] absl::Status Prove(const std::shared_ptr<NetworkNamespaces>& network = nullptr);

  // Has as many made as are missing, without waiting for them. What fails is tried again the next
  // time. To be called when a command has ended: making one would slow down whatever runs on few
  // processors.
  void Refill();

  // To be called when a command runs, which may take long: the same when less than half of them
  // wait.
  void RefillIfFew();
  [[nodiscard]] bool AreFew();

  // The plan whose template the next command may start from, when it gets a new sandbox: its paths
  // lead to the same objects still. Null where none is worth making, as for the first command.
  [[nodiscard]] std::shared_ptr<const RegisteredPlan> TemplatePlan();

  // What was just found about folders of the host for the command that is to be started next.
  void NoteChecked(CheckedFolders checked);

  // Ends them all, and makes no more.
  void Close();

 private:
  using Network = std::shared_ptr<NetworkNamespaces>;
  // A set that runs one command needs no template. Where its paths change all the time one would be
  // made for nothing more and more seldom.
  static constexpr std::size_t kFirstPause = 1;
  static constexpr std::size_t kLongestPause = 64;
  static constexpr std::size_t kWorthwhile = 4;

  struct Waiting {
    UniqueFd channel;
    NotedRun run;
    std::weak_ptr<NetworkNamespaces> network;
    std::chrono::steady_clock::time_point since;
    UniqueFd pidfd;  // Of its pid 1, once it is known to be complete.
    std::vector<SaidEvent> said;
    std::shared_ptr<const RegisteredPlan> plan;
    std::shared_ptr<CommandCgroup> cgroup;
  };

  [[nodiscard]] std::deque<Waiting>::iterator FindLocked(const Network& network);
  // Takes in what they have said, so that who starts a command in one need not.
  void HearWaitingLocked();
  [[nodiscard]] std::optional<Waiting> Take(const Network& network);
  [[nodiscard]] absl::Status BeginLocked(const Network& network);
  [[nodiscard]] absl::Status MakeOneLocked(const Network& network, bool from_template);
  [[nodiscard]] absl::Status PinLocked();
  void UnpinLocked();

  const std::shared_ptr<Launcher> launcher_;
  const SandboxPlan plan_;
  const std::size_t count_;
  const std::shared_ptr<CommandCgroups> cgroups_;

  std::mutex mutex_;
  bool closed_ = false;
  // The plan with the identities of what its paths led to, and those paths.
  std::shared_ptr<const RegisteredPlan> pinned_;
  std::optional<PlanSources> sources_;
  CheckedFolders checked_;
  std::deque<Waiting> waiting_;
  // Commands that asked for a template since the plan was pinned, and those that are to come before
  // it is worth pinning again.
  std::size_t asked_ = 0;
  std::size_t pause_ = kFirstPause;
  std::size_t next_pause_ = kFirstPause;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_READY_SANDBOXES_H_
