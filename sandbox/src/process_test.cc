#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "deadline_poll.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::Exists;
using testing::kDeadline;
using testing::ProcessesWith;
using testing::ReadUntil;
using testing::SandboxFixture;
using namespace std::chrono_literals;

ProcessOptions AllPipes() {
  ProcessOptions options;
  options.standard_input.kind = StreamOption::Kind::kPipe;
  return options;
}

std::unique_ptr<Process> Started(SandboxFixture& fixture, const std::string& text,
                                 const ProcessOptions& options = AllPipes()) {
  const absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared =
      fixture.executor()->PrepareProcess(Command::Shell(text, fixture.workspace()), options);
  INFO(prepared.status().ToString());
  REQUIRE(prepared.ok());
  absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  INFO(process.status().ToString());
  REQUIRE(process.ok());
  return *std::move(process);
}

SteadyTime Deadline() { return std::chrono::steady_clock::now() + kDeadline; }

TEST_CASE("preparing starts nothing, and a process starts once") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const Command command = Command::Shell("touch ran", fixture.workspace());
  absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared =
      fixture.executor()->PrepareProcess(command, {});
  REQUIRE(prepared.ok());
  CHECK((*prepared)->effective_paths().Resolve(Axis::kWrite, fixture.workspace()).access ==
        Access::kAllow);
  prepared->reset();
  CHECK(fixture.Shell("test -e ran").outcome.code == 1);

  prepared = fixture.executor()->PrepareProcess(command, {});
  REQUIRE(prepared.ok());
  const absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  REQUIRE(process.ok());
  CHECK(Is((*prepared)->Start().status(), ErrorCode::kClosed));
  CHECK((*process)->Wait(Deadline()).ok());
  CHECK(Exists(fixture.workspace() + "/ran"));
}

TEST_CASE("streams are live: what is written inside is read before the end, and input reaches it") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::unique_ptr<Process> process = Started(
      fixture, "echo ready; echo apart >&2; read line; echo got-$line; cat >/dev/null; exit 4");
  UniqueFd input = process->TakeStandardInput();
  const UniqueFd output = process->TakeStandardOutput();
  const UniqueFd error = process->TakeStandardError();
  CHECK_FALSE(process->TakeStandardInput().valid());
  CHECK(ReadUntil(output.get(), "ready\n"));
  CHECK(ReadUntil(error.get(), "apart\n"));
  REQUIRE(write(input.get(), "text\n", 5) == 5);
  CHECK(ReadUntil(output.get(), "got-text\n"));
  CHECK_FALSE(ReadableNow(process->exit_fd()));
  input.Reset();
  CHECK(ReadableUntil(process->exit_fd(), Deadline()));
  const absl::StatusOr<RunResult> result = process->Wait();
  REQUIRE(result.ok());
  CHECK(result->outcome.kind == Outcome::Kind::kExited);
  CHECK(result->outcome.code == 4);
}

TEST_CASE("streams may be descriptors of the caller, or nothing") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ProcessOptions options;
  options.standard_output = {StreamOption::Kind::kFd, writer.get()};
  options.standard_error.kind = StreamOption::Kind::kNull;
  const std::unique_ptr<Process> process = Started(fixture, "cat; echo out; echo err >&2", options);
  writer.Reset();
  CHECK(ReadUntil(reader.get(), "out\n"));
  CHECK_FALSE(process->TakeStandardOutput().valid());
  CHECK_FALSE(process->TakeStandardError().valid());
  CHECK(process->Wait(Deadline()).ok());

  options.standard_output.fd = 1000;
  CHECK(Is(fixture.executor()
               ->PrepareProcess(Command::Shell("true", fixture.workspace()), options)
               .status(),
           ErrorCode::kInvalidOption));
}

TEST_CASE("many may wait: all get the same result, and giving up waiting kills nothing") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::unique_ptr<Process> process = Started(fixture, "read line; exit 6");
  UniqueFd input = process->TakeStandardInput();
  CHECK(Is(process->Wait(std::chrono::steady_clock::now() + 20ms).status(), ErrorCode::kTimeLimit));
  CHECK_FALSE(ReadableNow(process->exit_fd()));
  std::vector<int> codes(16, -1);
  std::vector<std::thread> threads;
  for (int& code : codes) {
    threads.emplace_back([&process, &code] {
      const absl::StatusOr<RunResult> result = process->Wait();
      if (result.ok()) code = result->outcome.code.value_or(-2);
    });
  }
  input.Reset();
  for (std::thread& thread : threads) thread.join();
  for (const int code : codes) CHECK(code == 6);
}

TEST_CASE("an interrupt can be repeated, and the program decides what it means") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::unique_ptr<Process> process =
      Started(fixture,
              "n=0; trap 'n=$((n+1)); echo int-$n; test $n = 3 && exit 8' INT; echo ready; "
              "while :; do sleep 0.05; done");
  const UniqueFd output = process->TakeStandardOutput();
  CHECK(ReadUntil(output.get(), "ready\n"));
  for (int i = 1; i <= 3; ++i) {
    CHECK(process->Signal(ProcessSignal::kInterrupt).ok());
    CHECK(ReadUntil(output.get(), "int-" + std::to_string(i) + "\n"));
  }
  const absl::StatusOr<RunResult> result = process->Wait(Deadline());
  REQUIRE(result.ok());
  CHECK(result->outcome.kind == Outcome::Kind::kCancelled);
  CHECK(result->outcome.code == 8);
}

TEST_CASE("terminate escalates once after the grace, also when nobody waits") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::unique_ptr<Process> process =
      Started(fixture, "trap 'echo term' TERM; echo ready; while :; do sleep 0.05; done");
  const UniqueFd output = process->TakeStandardOutput();
  CHECK(ReadUntil(output.get(), "ready\n"));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(process->Signal(ProcessSignal::kTerminate).ok());
  CHECK(process->Signal(ProcessSignal::kTerminate).ok());
  CHECK(ReadUntil(output.get(), "term\n"));
  CHECK(ReadableUntil(process->exit_fd(), Deadline()));
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took >= Process::kGrace - 100ms);
  CHECK(took < Process::kGrace + 3s);
  const absl::StatusOr<RunResult> result = process->Wait();
  REQUIRE(result.ok());
  CHECK(result->outcome.kind == Outcome::Kind::kCancelled);
  CHECK(result->outcome.signal == SIGKILL);
  CHECK(result->outcome.max_rss_bytes > 0);
}

TEST_CASE("kill ends the tree at once, and after the end signals do nothing") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::unique_ptr<Process> process =
      Started(fixture, "trap '' TERM INT; echo ready; sleep 30");
  CHECK(ReadUntil(process->TakeStandardOutput().get(), "ready\n"));
  CHECK(process->Signal(ProcessSignal::kKill).ok());
  const absl::StatusOr<RunResult> result = process->Wait(Deadline());
  REQUIRE(result.ok());
  CHECK(result->outcome.kind == Outcome::Kind::kCancelled);
  CHECK(result->outcome.wall < 5s);

  const std::unique_ptr<Process> over = Started(fixture, "exit 2");
  REQUIRE(over->Wait(Deadline()).ok());
  for (const ProcessSignal signal :
       {ProcessSignal::kInterrupt, ProcessSignal::kTerminate, ProcessSignal::kKill}) {
    CHECK(over->Signal(signal).ok());
  }
  CHECK(over->Close().ok());
  CHECK(over->Wait()->outcome.kind == Outcome::Kind::kExited);
  CHECK(over->Wait()->outcome.code == 2);
  CHECK(Is(over->Signal(static_cast<ProcessSignal>(9)), ErrorCode::kInvalidOption));
}

TEST_CASE("what ended by itself before a signal ended by itself") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::unique_ptr<Process> process = Started(fixture, "exit 2");
  REQUIRE(ReadableUntil(process->exit_fd(), Deadline()));
  CHECK(process->Signal(ProcessSignal::kKill).ok());
  CHECK(process->Wait()->outcome.kind == Outcome::Kind::kExited);
}

TEST_CASE("destroying a process ends its tree, whatever detached itself") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::string mark = "34.0" + std::to_string(getpid());
  std::unique_ptr<Process> process =
      Started(fixture, "trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; sleep " + mark +
                           "; touch late' &); "
                           "setsid sleep " +
                           mark + " & echo ready; sleep " + mark);
  CHECK(ReadUntil(process->TakeStandardOutput().get(), "ready\n"));
  CHECK(ProcessesWith(mark) > 0);
  SECTION("destroyed") { process.reset(); }
  SECTION("closed, twice") {
    CHECK(process->Close().ok());
    CHECK(process->Close().ok());
    CHECK(process->Wait()->outcome.kind == Outcome::Kind::kCancelled);
  }
  CHECK(ProcessesWith(mark) == 0);
  CHECK_FALSE(Exists(fixture.workspace() + "/late"));
}

TEST_CASE("closing while another waits or signals is safe, and all agree") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  for (int i = 0; i < 5; ++i) {
    const std::unique_ptr<Process> process = Started(fixture, "sleep 30");
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) {
      threads.emplace_back([&] { (void)process->Wait(); });
      threads.emplace_back([&] { (void)process->Signal(ProcessSignal::kTerminate); });
      threads.emplace_back([&] { (void)process->Close(); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(process->Wait()->outcome.kind == Outcome::Kind::kCancelled);
  }
}

TEST_CASE("a program that cannot be executed fails the start, and the next one starts") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared =
      fixture.executor()->PrepareProcess(Command::Argv({"./missing"}, fixture.workspace()),
                                         AllPipes());
  REQUIRE(prepared.ok());
  const absl::Status failed = (*prepared)->Start().status();
  CHECK(Is(failed, ErrorCode::kSetupFailed));
  CHECK(ErrorOf(failed)->error_number == ENOENT);
  CHECK(Started(fixture, "exit 3")->Wait(Deadline())->outcome.code == 3);
}

}  // namespace
}  // namespace cordon::internal
