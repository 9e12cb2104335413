#include "prepared_spawn.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

absl::Status LogSpawn(const PreparedSpawn& spawn) {
  const ExecutionContext& context = spawn.context;
  if (context.log == nullptr) return absl::OkStatus();
  absl::Status status =
      context.log->Append({"spawn",
                           context.execution_id,
                           {{"command", CommandDisplay(spawn.command)},
                            {"command_sha256", DigestHex(CommandDigest(spawn.command))},
                            {"directory", EscapeForDisplay(spawn.command.working_directory)},
                            {"backend", context.report.backend},
                            {"level", std::string(LevelName(context.report.level))}}});
  if (status.ok()) return status;
  return MakeError(ErrorCode::kLogFailed, "the command was not started, since the log failed");
}

void LogStartFailure(const PreparedSpawn& spawn, const absl::Status& failure) {
  if (spawn.context.log == nullptr) return;
  (void)spawn.context.log->Append(
      {"exit", spawn.context.execution_id, {{"error", std::string(failure.message())}}});
}

absl::StatusOr<SpawnedSandbox> StartInReadyOrNew(PreparedSpawn& spawn,
                                                 const SpawnStreams& streams) {
  ReadyPlan& ready = spawn.context.plan;
  const std::shared_ptr<NetworkNamespaces> network =
      spawn.context.network != nullptr ? spawn.context.network->network() : nullptr;
  if (ready.ready != nullptr) {
    std::optional<StartedInReady> started =
        ready.ready->Start(spawn.plan, streams.standard_input, streams.standard_output,
                           streams.standard_error, network);
    if (started.has_value()) {
      ready.registered = std::move(started->plan);
      ready.cgroup = std::move(started->cgroup);
      return std::move(started->sandbox);
    }
  }
  SpawnPlace place;
  if (ready.cgroups != nullptr) {
    absl::StatusOr<std::shared_ptr<CommandCgroup>> cgroup = ready.cgroups->Make();
    if (!cgroup.ok()) return cgroup.status();
    ready.cgroup = *std::move(cgroup);
    place.cgroup = ready.cgroup->fd();
  }
  const RegisteredPlan& plan = *ready.registered;
  if (absl::Status registered = plan.Register(); !registered.ok()) return registered;
  std::shared_ptr<const RegisteredPlan> same_view;  // Known to the launcher until it has answered.
  if (network != nullptr) place.network = network->sandbox();
  if (ready.ready != nullptr && ready.cgroup == nullptr) {
    same_view = ready.ready->TemplatePlan();
    if (same_view != nullptr) place.template_plan = same_view->id();
  }
  return plan.launcher().Spawn(plan.id(), spawn.plan, streams.standard_input,
                               streams.standard_output, streams.standard_error, place);
}

// Nobody waits for it, unless none is left.
void RefillSoon(const std::shared_ptr<ReadySandboxes>& ready,
                const std::shared_ptr<Observer>& observer) {
  const bool can_wait = observer != nullptr && !ready->AreFew();
  if (can_wait && observer->Later([ready] { ready->Refill(); })) return;
  ready->Refill();
}

absl::StatusOr<std::shared_ptr<Execution>> HandOver(const std::shared_ptr<LiveExecutions>& live,
                                                    PreparedSpawn& spawn,
                                                    const SpawnStreams& streams) {
  absl::Status logged = LogSpawn(spawn);
  if (!logged.ok()) return logged;
  absl::StatusOr<SpawnedSandbox> sandbox = StartInReadyOrNew(spawn, streams);
  if (!sandbox.ok()) {
    LogStartFailure(spawn, sandbox.status());
    return sandbox.status();
  }
  const std::shared_ptr<ReadySandboxes> ready = spawn.context.plan.ready;
  const std::shared_ptr<Observer> observer = spawn.context.observer;
  auto execution = std::make_shared<Execution>(*std::move(sandbox), std::move(spawn.context));
  execution->OnEnd([live, ready, observer, ended = execution.get()] {
    live->Forget(ended);
    if (ready != nullptr) RefillSoon(ready, observer);
  });
  if (ready != nullptr) execution->OnStart([ready] { ready->RefillIfFew(); });
  return execution;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenNull() {
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return MakeErrnoError(errno, "cannot open /dev/null");
  return null;
}

absl::StatusOr<std::shared_ptr<Execution>> StartPrepared(
    const std::shared_ptr<LiveExecutions>& live, PreparedSpawn spawn, const SpawnStreams& streams) {
  return live->Start([&] { return HandOver(live, spawn, streams); });
}

}  // namespace cordon::internal
