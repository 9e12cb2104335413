// The host's side of the launcher: a small static program, embedded in this library, that makes
// sandboxes. It runs with a clean environment and nothing of the caller's memory, descriptors or
// signal state, so a spawn costs the same however large the caller is. Safe from any thread.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"
#include "plan.h"
#include "run_table.h"

namespace cordon::internal {

// What was received from a spawn's channel.
struct SaidEvent {
  SpawnEvent event;
  UniqueFd attached;
};

// A spawn that the launcher has begun. Dropping `channel` kills the tree.
struct SpawnedSandbox {
  UniqueFd pidfd;    // Of the sandbox's pid 1: readable once the whole tree has ended.
  UniqueFd channel;  // Carries `SpawnEvent`s out and `SpawnControl`s in.
  // Of a command that must leave nothing under certain names: begun.
  NotedRun run;
  // What a sandbox that waited had said, but for kReady, and was received before it had its
  // command.
  std::vector<SaidEvent> said;
};

// A sandbox that waits for its command, or will when it is made. Dropping `channel` ends it.
struct PreparedSandbox {
  UniqueFd channel;
  NotedRun run;  // To be begun before the command is handed over.
};

// Where a sandbox is made.
struct SpawnPlace {
  int network = -1;  // The namespace to start in, for a plan without the host's network (borrowed);
                     // negative: a new one.
  // A plan with the same view or, without one, the same rules, of which the paths lead to the same
  // objects still: what its sandboxes share is copied or used, or begun to be made for the next
  // ones (launcher/view_template.h, launcher/rulesets.h).
  std::optional<std::uint32_t> template_plan;
  // A cgroup of the tree's own, with nothing in it (borrowed); negative: the launcher's. Not with a
  // template.
  int cgroup = -1;
};

// A network that the launcher was asked for; see network_protocol.h.
struct StartedNetwork {
  UniqueFd socket;          // On which its keeper serves. Dropping it ends the keeper.
  std::uint64_t reply = 0;  // For `AwaitKeeper`.
};

class Launcher {
 public:
  // Starts the program from a sealed memfd or, where that is refused, from a file in
  // `fallback_directory`. Nothing is inherited and the caller's SIGCHLD handling never sees it: it
  // is no child of the caller, unless that is init or a subreaper. It ends, with everything it
  // started, when the calling process ends. Returns kUnavailable when both are refused.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<Launcher>> Start(
      const std::string& fallback_directory);

  virtual ~Launcher() = default;

  // Hands over a compiled plan; the id is valid until `RemovePlan`.
  [[nodiscard]] virtual absl::StatusOr<std::uint32_t> AddPlan(const SandboxPlan& plan) = 0;
  virtual void RemovePlan(std::uint32_t id) = 0;

  // Begins a spawn and returns at once; failures of the set-up arrive on the channel. The
  // descriptors are borrowed. Returns kUnavailable when the launcher is gone, kSetupFailed when the
  // namespaces themselves are refused, kInvalidCommand for text that cannot be passed on.
  [[nodiscard]] virtual absl::StatusOr<SpawnedSandbox> Spawn(
      std::uint32_t plan_id, const CommandPlan& command, int standard_input, int standard_output,
      int standard_error, const SpawnPlace& place) = 0;
  [[nodiscard]] absl::StatusOr<SpawnedSandbox> Spawn(std::uint32_t plan_id,
                                                     const CommandPlan& command, int standard_input,
                                                     int standard_output, int standard_error) {
    return Spawn(plan_id, command, standard_input, standard_output, standard_error, SpawnPlace());
  }

  // Asks for a network and returns at once. Returns kUnavailable when the launcher is gone.
  [[nodiscard]] virtual absl::StatusOr<StartedNetwork> MakeNetwork(bool with_gateway) = 0;

  // Once: waits for the keeper of a network that `MakeNetwork` asked for, and returns its pidfd.
  // Returns kUnavailable when the launcher is gone and kSetupFailed when the namespaces themselves
  // are refused.
  [[nodiscard]] virtual absl::StatusOr<UniqueFd> AwaitKeeper(const StartedNetwork& network) = 0;

  // Whether a pid namespace of this host keeps a limit of its own (`SandboxPlan::process_limit`),
  // tried in one that is thrown away. Returns kUnavailable where it does not.
  [[nodiscard]] virtual absl::Status CheckProcessLimit() = 0;

  // Whether a process can be started in the cgroup `cgroup` (borrowed). Returns kSetupFailed when
  // it cannot.
  [[nodiscard]] virtual absl::Status CheckCgroup(int cgroup) = 0;

  // Begins a sandbox of the plan that waits for its command, and returns its channel without
  // waiting for anything: see ready_sandboxes.h, which speaks with it. Returns kUnavailable when
  // the launcher is gone.
  [[nodiscard]] virtual absl::StatusOr<PreparedSandbox> Prepare(std::uint32_t plan_id,
                                                                const SpawnPlace& place) = 0;
  [[nodiscard]] absl::StatusOr<PreparedSandbox> Prepare(std::uint32_t plan_id) {
    return Prepare(plan_id, SpawnPlace());
  }

  // From now on, when the calling process dies without having called `Stop`, the folder `name` of
  // the open folder `parent` (borrowed) is removed with everything in it.
  [[nodiscard]] absl::Status OwnFolder(int parent, const std::string& name) {
    const absl::StatusOr<std::uint64_t> reply = BeginOwnFolder(parent, name);
    return reply.ok() ? AwaitOwned(*reply) : reply.status();
  }
  // Asks for that and returns at once: it holds from then on, unless `AwaitOwned`, once, says that
  // the launcher refuses. Returns kUnavailable when the launcher is gone.
  [[nodiscard]] virtual absl::StatusOr<std::uint64_t> BeginOwnFolder(int parent,
                                                                     const std::string& name) = 0;
  [[nodiscard]] virtual absl::Status AwaitOwned(std::uint64_t reply) = 0;

  // The same for the cgroup `name` of the open cgroup `parent` (borrowed): what runs in it is
  // ended, it and those below it are removed.
  [[nodiscard]] virtual absl::Status OwnCgroup(int parent, const std::string& name) = 0;

  // Kills everything, without waiting for its end. Idempotent.
  virtual void Kill() = 0;

  // Kills everything and reaps the program. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_H_
