// Trees that do not end when they are told to. No real one can be made at will, so that an event
// descriptor stands for the first process here, and a socket for its channel.

#include "execution.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "cordon/sdk/status.h"
#include "descriptor_message.h"
#include "executor_testing.h"
#include "live_executions.h"
#include "output_pump.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using namespace std::chrono_literals;
using testing::FakeLog;

// What the host holds of a command that was started, and what its first process would hold.
struct FakeTree {
  FakeTree() : first_process(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    channel.Reset(ends[0]);
    host_channel.Reset(ends[1]);
  }

  void Say(SpawnEvent::Kind kind, int wait_status = 0) const {
    SpawnEvent event;
    event.kind = kind;
    event.wait_status = wait_status;
    REQUIRE(send(channel.get(), &event, sizeof event, 0) == sizeof event);
  }
  // The last word of a first process that has no child any more.
  void SayNothingIsLeft() const {
    SpawnEvent event;
    event.kind = SpawnEvent::Kind::kEnded;
    event.nothing_left = 1;
    REQUIRE(send(channel.get(), &event, sizeof event, 0) == sizeof event);
  }
  void End() const { REQUIRE(eventfd_write(first_process.get(), 1) == 0); }

  [[nodiscard]] std::shared_ptr<Execution> Execute(LogSink* log = nullptr) {
    SpawnedSandbox spawned;
    spawned.pidfd.Reset(dup(first_process.get()));
    spawned.channel = std::move(host_channel);
    ExecutionContext context;
    context.execution_id = "run-1";
    context.report.lifetime = LifetimeContainment::kEnforced;
    context.end_patience = 20ms;
    context.log = log;
    return std::make_shared<Execution>(std::move(spawned), std::move(context));
  }

  UniqueFd first_process;
  UniqueFd channel;
  UniqueFd host_channel;
};

// Starts `tree` as one of `live`.
std::shared_ptr<Execution> StartIn(const std::shared_ptr<LiveExecutions>& live, FakeTree& tree,
                                   LogSink* log) {
  auto started = live->Start([&]() -> absl::StatusOr<std::shared_ptr<Execution>> {
    std::shared_ptr<Execution> execution = tree.Execute(log);
    execution->OnEnd([live, ended = execution.get()] { live->Forget(ended); });
    return execution;
  });
  REQUIRE(started.ok());
  return *std::move(started);
}

TEST_CASE("a tree whose end cannot be proved is kept, reported by Close, and tried again") {
  const auto live = std::make_shared<LiveExecutions>();
  FakeLog log;
  FakeTree tree;
  std::weak_ptr<Execution> kept = StartIn(live, tree, &log);
  tree.Say(SpawnEvent::Kind::kStarted);
  REQUIRE_FALSE(kept.expired());  // By `live`.
  CHECK(Is(live->Close(), ErrorCode::kInternal));
  CHECK(Is(live->Close(), ErrorCode::kInternal));
  CHECK(log.events() == "quarantined");  // Once.
  tree.End();
  CHECK(live->Close().ok());
  CHECK(kept.expired());
  CHECK(log.events() == "quarantined exit");
}

TEST_CASE("the next start tries quarantined trees again, and forgets one that has ended") {
  const auto live = std::make_shared<LiveExecutions>();
  FakeTree tree;
  std::weak_ptr<Execution> kept;
  {
    const std::shared_ptr<Execution> execution = StartIn(live, tree, nullptr);
    tree.Say(SpawnEvent::Kind::kStarted);
    CHECK(Is(execution->Close(), ErrorCode::kInternal));
    kept = execution;
  }
  FakeTree other;
  const std::shared_ptr<Execution> second = StartIn(live, other, nullptr);
  CHECK_FALSE(kept.expired());  // It still runs.
  tree.End();
  FakeTree third_tree;
  const std::shared_ptr<Execution> third = StartIn(live, third_tree, nullptr);
  CHECK(kept.expired());
  other.End();
  third_tree.End();
  CHECK(live->Close().ok());
}

TEST_CASE("a run whose tree does not end returns what is known, and says that it may still run") {
  FakeTree tree;
  const std::shared_ptr<Execution> execution = tree.Execute();
  RunOptions options;
  auto pump = OutputPump::Create(options);
  REQUIRE(pump.ok());
  REQUIRE(write((*pump)->standard_output(), "partial\n", 8) == 8);
  const UniqueFd held(dup((*pump)->standard_output()));
  tree.Say(SpawnEvent::Kind::kStarted);
  SECTION("when the command itself has ended") {
    tree.Say(SpawnEvent::Kind::kEnded, 3 << 8);
    const auto result = (*pump)->Run(*execution);
    REQUIRE(result.ok());
    CHECK(result->outcome.code == 3);
    CHECK(result->standard_output.head == "partial\n");
    CHECK_FALSE(result->end_proved);
    CHECK(result->report.lifetime == LifetimeContainment::kUnspecified);
    CHECK(execution->is_quarantined());
  }
  SECTION("when it was cancelled") {
    std::stop_source stop;
    options.stop = stop.get_token();
    auto other = OutputPump::Create(options);
    REQUIRE(other.ok());
    stop.request_stop();
    const auto result = (*other)->Run(*execution);
    REQUIRE(result.ok());
    CHECK(result->outcome.kind == Outcome::Kind::kCancelled);
    CHECK_FALSE(result->end_proved);
  }
  tree.End();
  execution->Retry();
  const auto settled = execution->Wait(SteadyTime::max());
  REQUIRE(settled.ok());
  CHECK(settled->end_proved);  // The control.
}

TEST_CASE("without a pid namespace, a supervisor that gave no last word proves nothing") {
  for (const bool gave_word : {true, false}) {
    FakeTree tree;
    SpawnedSandbox spawned;
    spawned.pidfd.Reset(dup(tree.first_process.get()));
    spawned.channel = std::move(tree.host_channel);
    ExecutionContext context;
    context.report.lifetime = LifetimeContainment::kBestEffort;
    const auto execution = std::make_shared<Execution>(std::move(spawned), std::move(context));
    tree.Say(SpawnEvent::Kind::kStarted);
    if (gave_word) tree.Say(SpawnEvent::Kind::kEnded);
    tree.End();
    const auto result = execution->Wait(SteadyTime::max());
    REQUIRE(result.ok());
    CHECK(result->end_proved == gave_word);
  }
}

TEST_CASE(
    "what is polled for the end is readable once nothing is left, before the last process ends") {
  FakeTree tree;
  const std::shared_ptr<Execution> execution = tree.Execute();
  tree.Say(SpawnEvent::Kind::kStarted);
  SECTION("which the first process says by the event that it was given") {
    REQUIRE(execution->AwaitStart().ok());
    const UniqueFd end = execution->MakeEndFd();
    SpawnControl control;
    UniqueFd event;
    REQUIRE(ReceiveMessage(tree.channel.get(), &control, sizeof control, &event) == sizeof control);
    CHECK(control.signal == 0);
    CHECK(control.kill_after_milliseconds == 0);
    REQUIRE(event.valid());
    tree.SayNothingIsLeft();
    CHECK_FALSE(ReadableNow(end.get()));
    REQUIRE(eventfd_write(event.get(), 1) == 0);
    CHECK(ReadableNow(end.get()));
    CHECK(execution->Wait(std::chrono::steady_clock::now()).ok());
  }
  SECTION("or has said already") {
    tree.SayNothingIsLeft();
    REQUIRE(execution->AwaitStart().ok());
    CHECK(ReadableNow(execution->MakeEndFd().get()));
  }
  CHECK_FALSE(ReadableNow(execution->exit_fd()));
  tree.End();
}

TEST_CASE("the last word is heard although what came before the end was never read") {
  FakeTree tree;
  const std::shared_ptr<Execution> execution = tree.Execute();
  tree.Say(SpawnEvent::Kind::kStarted);
  REQUIRE(execution->AwaitStart().ok());
  const UniqueFd end = execution->MakeEndFd();
  tree.Say(SpawnEvent::Kind::kEnded, 3 << 8);
  tree.channel.Reset();
  tree.End();
  REQUIRE(ReadableNow(end.get()));
  const auto result = execution->Wait(std::chrono::steady_clock::now());
  REQUIRE(result.ok());
  CHECK(result->outcome.code == 3);
}

TEST_CASE("what is polled for the end is not readable while something may be left") {
  FakeTree tree;
  const std::shared_ptr<Execution> execution = tree.Execute();
  tree.Say(SpawnEvent::Kind::kStarted);
  REQUIRE(execution->AwaitStart().ok());
  const UniqueFd end = execution->MakeEndFd();
  tree.Say(SpawnEvent::Kind::kEnded);
  CHECK_FALSE(ReadableNow(end.get()));
  CHECK(Is(execution->Wait(std::chrono::steady_clock::now()).status(), ErrorCode::kTimeLimit));
  tree.End();
  CHECK(ReadableNow(end.get()));
  CHECK(execution->Wait(std::chrono::steady_clock::now()).ok());
}

}  // namespace
}  // namespace cordon::internal
