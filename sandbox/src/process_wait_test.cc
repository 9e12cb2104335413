// Waiting for one or several processes, with a time limit and a stop token.

#include <unistd.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "cordon/sdk/process.h"
#include "cordon/sdk/status.h"
#include "deadline_poll.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::kDeadline;
using testing::SandboxFixture;
using namespace std::chrono_literals;

SteadyTime Deadline() { return std::chrono::steady_clock::now() + kDeadline; }

// A command that ends with `code` when its input is closed.
struct Waiting {
  Waiting(SandboxFixture& fixture, int code) {
    ProcessOptions options;
    options.standard_input.kind = StreamOption::Kind::kPipe;
    const auto prepared = fixture.executor()->PrepareProcess(
        Command::Shell("read line; exit " + std::to_string(code), fixture.workspace()), options);
    REQUIRE(prepared.ok());
    auto started = (*prepared)->Start();
    REQUIRE(started.ok());
    process = *std::move(started);
    input = process->TakeStandardInput();
  }
  std::unique_ptr<Process> process;
  UniqueFd input;
};

TEST_CASE("a wait ends with the process, at its deadline, or when a stop is requested") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  Waiting waiting(fixture, 5);
  std::stop_source stop;
  CHECK(
      Is(waiting.process->Wait(std::chrono::steady_clock::now() + 20ms, stop.get_token()).status(),
         ErrorCode::kTimeLimit));
  std::jthread stopping([&stop] { stop.request_stop(); });
  CHECK(Is(waiting.process->Wait(SteadyTime::max(), stop.get_token()).status(),
           ErrorCode::kCancelled));
  CHECK_FALSE(ReadableNow(waiting.process->exit_fd()));  // Neither has ended it.
  waiting.input.Reset();
  const auto result = waiting.process->Wait(Deadline(), std::stop_token());
  REQUIRE(result.ok());
  CHECK(result->outcome.code == 5);
}

TEST_CASE("of several processes one, or all, can be waited for") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  Waiting first(fixture, 1);
  Waiting second(fixture, 2);
  Process* const both[] = {first.process.get(), second.process.get()};
  const SteadyTime soon = std::chrono::steady_clock::now() + 20ms;
  CHECK(Is(WaitForAny(both, soon).status(), ErrorCode::kTimeLimit));
  second.input.Reset();
  const auto ended = WaitForAny(both, Deadline());
  REQUIRE(ended.ok());
  CHECK(*ended == 1);
  CHECK(Is(WaitForAll(both, std::chrono::steady_clock::now() + 20ms), ErrorCode::kTimeLimit));
  std::stop_source stop;
  stop.request_stop();
  CHECK(Is(WaitForAll(both, SteadyTime::max(), stop.get_token()), ErrorCode::kCancelled));
  first.input.Reset();
  CHECK(WaitForAll(both, Deadline()).ok());
  CHECK(first.process->Wait()->outcome.code == 1);
  CHECK(second.process->Wait()->outcome.code == 2);
}

TEST_CASE("nothing to wait for is an error, not a wait for ever") {
  Process* const null[] = {nullptr};
  CHECK(Is(WaitForAny({}, SteadyTime::max()).status(), ErrorCode::kInvalidOption));
  CHECK(Is(WaitForAll({}, SteadyTime::max()), ErrorCode::kInvalidOption));
  CHECK(Is(WaitForAny(null, SteadyTime::max()).status(), ErrorCode::kInvalidOption));
}

}  // namespace
}  // namespace cordon::internal
