// One started command, from the hand-over to the launcher to the proof that its whole tree has
// ended.

#ifndef CORDON_SANDBOX_SRC_EXECUTION_H_
#define CORDON_SANDBOX_SRC_EXECUTION_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "command_network.h"
#include "command_tree.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/log_sink.h"
#include "deadline_poll.h"
#include "execution_result.h"
#include "launcher.h"
#include "observation.h"
#include "observer.h"
#include "plan.h"
#include "plan_compiler.h"
#include "running_names.h"

namespace cordon::internal {

// What is known about an execution before it starts.
struct ExecutionContext {
  std::string execution_id;
  CompileReport report;
  std::vector<ConsumedGrant> grants;
  ReadyPlan plan;                           // Kept until the end.
  std::unique_ptr<CommandNetwork> network;  // The same; null when it is not served.
  std::unique_ptr<RunningNames> names;      // Of a confined command.
  // Both null when the plan watches nothing.
  std::shared_ptr<Observer> observer;
  std::shared_ptr<CallHandler> handler;
  std::shared_ptr<CommandTree> tree;         // Told when there is one; may be null.
  std::shared_ptr<Observation> observation;  // Null when refusals are not listed.
  LogSink* log = nullptr;                    // Borrowed.
  // For the end of a tree that was killed. It takes milliseconds; minutes would hide a fault.
  std::chrono::milliseconds end_patience = std::chrono::seconds(10);
};

// Safe from any thread.
class Execution {
 public:
  Execution(SpawnedSandbox spawned, ExecutionContext context);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();  // Closes.

  // Run once, at the end; set before the execution is shared.
  void OnEnd(std::function<void()> callback) { on_end_ = std::move(callback); }

  // The same, once the command runs; not for one that ends before it was seen to.
  void OnStart(std::function<void()> callback) { on_start_ = std::move(callback); }

  // For poll(2): the launcher's messages, and the end of the tree's first process, which is the
  // last one.
  [[nodiscard]] int channel_fd() const { return spawned_.channel.get(); }
  [[nodiscard]] int exit_fd() const { return spawned_.pidfd.get(); }

  // A descriptor that becomes readable once `IsOver` without anybody's `ReadEvents`: sooner than
  // `exit_fd`, where the first process may say that it is alone. Invalid when none can be made.
  // Once, after the start.
  [[nodiscard]] UniqueFd MakeEndFd();

  // Waits until the command runs. Returns kSetupFailed when it never will, kClosed when the
  // execution was closed meanwhile.
  [[nodiscard]] absl::Status AwaitStart();

  // Takes in what the launcher has said, without blocking. True when there was something; false
  // means that the channel need not be polled any more.
  bool ReadEvents();

  // The host's side of the command's terminal, once, after its start; else invalid.
  [[nodiscard]] UniqueFd TakeTerminal();

  // When the command began to run; nothing before.
  [[nodiscard]] std::optional<SteadyTime> started() const;

  // Whether the whole tree has ended. The first process may still be on its way out: what it said
  // in `ReadEvents` is proof that it is alone (`SpawnEvent::nothing_left`), where nothing of ours
  // waits for its end as well.
  [[nodiscard]] bool IsOver() const;

  // Whether the command's own end has been reported. The tree's end follows at once, unless
  // something in it does not die.
  [[nodiscard]] bool has_ended() const;

  // How long the end of a killed tree is waited for.
  [[nodiscard]] std::chrono::milliseconds end_patience() const { return end_patience_; }

  // Says why the tree is about to be ended, which decides the outcome's kind. The first one counts.
  void EndingAs(Outcome::Kind kind);

  // Effects on the tree; none after its end.
  void Interrupt();
  void Terminate();  // Once; pid 1 kills what is left after `Process::kGrace`.
  void Kill();       // Through pid 1, which then still reports what was used.

  // Kills from outside, without pid 1's help where the tree dies with it; does not wait.
  void Destroy();

  // Waits for the end of the tree and settles it. The captured streams of the result are empty.
  // Returns kTimeLimit at `deadline`, kSetupFailed when the command was never started.
  [[nodiscard]] absl::StatusOr<RunResult> Wait(SteadyTime deadline);

  // Destroys and waits for `end_patience`. Returns kInternal when the end cannot be proved; can be
  // tried again. Quarantines then.
  [[nodiscard]] absl::Status Close();

  // For a tree whose end cannot be proved: notes that it is kept, and returns what is known of it,
  // with `end_proved` false. Its folders, plan and network stay until it has ended after all.
  [[nodiscard]] RunResult Quarantine();
  [[nodiscard]] bool is_quarantined() const { return quarantined_; }

  // Without waiting: destroys once more, and settles if that has helped by now.
  void Retry();

 private:
  [[nodiscard]] bool IsOverUntil(SteadyTime deadline);
  [[nodiscard]] bool IsSettled() const;
  void ReadEventsLocked();
  void OnEventLocked(const SpawnEvent& event, UniqueFd attached);
  void ObserveLocked(const SpawnEvent& event, UniqueFd listener);
  void DestroyLocked();
  void GiveUpLocked(Step step, int error_number);
  void CollectDenialsLocked(RunResult& result);
  void SendControl(const SpawnControl& control);
  [[nodiscard]] TreeCount CountLocked() const;
  [[nodiscard]] bool IsProvedByCgroupLocked() const;
  [[nodiscard]] absl::StatusOr<RunResult> ResultLocked();
  void SettleLocked();
  void TidyLocked(RunResult& result);
  void TakeNetworkLocked(RunResult& result);
  [[nodiscard]] RunResult KnownLocked() const;
  void QuarantineLocked();

  SpawnedSandbox spawned_;  // Its descriptors stay what they are.
  std::function<void()> on_end_;
  std::function<void()> on_start_;
  const std::chrono::milliseconds end_patience_;
  std::atomic<bool> terminated_ = false;
  std::atomic<bool> quarantined_ = false;
  std::atomic<bool> nothing_left_ = false;

  mutable std::mutex mutex_;
  ExecutionContext context_;
  bool channel_open_ = true;
  TreeHistory history_;
  std::unique_ptr<ObserverWatch> watch_;
  std::optional<ReportEntry> unobserved_;
  UniqueFd terminal_;
  UniqueFd end_event_;  // Watched by what `MakeEndFd` returned.
  std::optional<absl::StatusOr<RunResult>> settled_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_EXECUTION_H_
