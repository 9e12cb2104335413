#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "cordon/sdk/tool_call.h"
#include "support/catch.h"
#include "tool_call_fakes.h"

namespace cordon {
namespace {

using test::AdmitWith;
using test::AdmitWithoutGrants;
using test::Calls;
using test::CheckFailed;
using test::FakeTool;
using test::Fixture;
using test::Rendezvous;
using Events = std::vector<std::string>;

TEST_CASE("one tool that throws does not hurt the other calls of its batch") {
  Fixture fixture;
  fixture.tool.on_run = [](const PreparedCall& call, std::vector<Grant>,
                           std::stop_token) -> absl::StatusOr<ToolResult> {
    if (FakeTool::Arguments(call) == "3") throw 3;
    return ToolResult{"ran " + FakeTool::Arguments(call), "", false};
  };
  const std::vector<ToolCallOutcome> outcomes = fixture.Step().RunBatch(Calls(8));
  for (int i = 0; i < 8; ++i) {
    const ToolCallOutcome& outcome = outcomes.at(static_cast<std::size_t>(i));
    CHECK(outcome.call_id == "call-" + std::to_string(i));
    if (i == 3) {
      CheckFailed(outcome, ErrorCode::kToolFailed, "threw");
    } else {
      CHECK(outcome.result.text == "ran " + std::to_string(i));
    }
  }
}

TEST_CASE("an empty batch has no outcomes") { CHECK(Fixture().Step().RunBatch({}).empty()); }

TEST_CASE("a batch is prepared whole before anything is admitted, and admitted before it runs") {
  Fixture fixture;
  std::mutex mutex;
  Events order;
  const auto note = [&](const std::string& event) {
    const std::lock_guard lock(mutex);
    order.push_back(event);
  };
  fixture.tool.on_prepare = [&](std::string_view, const PrepareContext& context) {
    note("prepare");
    return PreparedCall(test::RequestFor(fixture.tool, context), SealedArtifact::Seal(0));
  };
  fixture.admission.on_admit = [&](const Request& request, std::stop_token) {
    note("admit " + request.call_id);
    return AdmitWith([&] {
      note("dispatch");
      return std::vector<Grant>();
    });
  };
  (void)fixture.Step().RunBatch(Calls(3));
  CHECK(order == Events{"prepare", "prepare", "prepare", "admit call-0", "admit call-1",
                        "admit call-2", "dispatch", "dispatch", "dispatch"});
}

TEST_CASE("a rule remembered for one call is seen by the next one's admission") {
  Fixture fixture;
  std::set<std::string> stored;
  int asked = 0;
  fixture.admission.on_admit = [&](const Request& request, std::stop_token) {
    if (stored.insert(request.tool).second) ++asked;
    return AdmitWithoutGrants();
  };
  for (const ToolCallOutcome& outcome : fixture.Step().RunBatch(Calls(5))) {
    CHECK(outcome.status.ok());
  }
  CHECK(asked == 1);
}

TEST_CASE("an admission that decides together is asked once for a step, and each call by itself") {
  Fixture fixture;
  int one_by_one = 0;
  fixture.admission.on_admit = [&](const Request&, std::stop_token) {
    ++one_by_one;
    return AdmitWithoutGrants();
  };
  std::vector<std::size_t> together;
  fixture.admission.on_admit_together = [&](absl::Span<const Request> requests) {
    together.push_back(requests.size());
    std::vector<absl::StatusOr<std::unique_ptr<Admitted>>> decisions;
    for (const Request& request : requests) {
      if (request.call_id == "call-1") {
        decisions.emplace_back(MakeError(ErrorCode::kRefusedByPerson, "not this one"));
      } else {
        decisions.push_back(AdmitWithoutGrants());
      }
    }
    return decisions;
  };
  const std::vector<ToolCallOutcome> outcomes = fixture.Step().RunBatch(Calls(3));
  CHECK(together == std::vector<std::size_t>{3});
  CHECK(one_by_one == 0);
  CHECK(outcomes.at(0).status.ok());
  CheckFailed(outcomes.at(1), ErrorCode::kRefusedByPerson, "refused");
  CHECK(outcomes.at(2).status.ok());

  (void)fixture.Step().RunBatch(Calls(1));
  CHECK(one_by_one == 1);
}

TEST_CASE("an admission that loses count of its decisions admits nothing") {
  Fixture fixture;
  fixture.admission.on_admit_together = [](absl::Span<const Request>) {
    std::vector<absl::StatusOr<std::unique_ptr<Admitted>>> decisions;
    decisions.push_back(AdmitWithoutGrants());
    return decisions;
  };
  for (const ToolCallOutcome& outcome : fixture.Step().RunBatch(Calls(2))) {
    CHECK(Is(outcome.status, ErrorCode::kInternal));
  }
}

TEST_CASE("a refusal fails only its own call and says what, why and how to allow it") {
  Fixture fixture;
  fixture.tool.on_prepare = [&](std::string_view, const PrepareContext& context) {
    Request request = test::RequestFor(fixture.tool, context);
    request.command = Command::Shell("git push\x1b", "/w");
    request.authority = std::vector<Requirement>{RequireCommand(*request.command)};
    return PreparedCall(std::move(request), SealedArtifact::Seal(test::FakeArtifact{"x"}));
  };
  fixture.admission.on_admit = [](const Request& request, std::stop_token) {
    if (request.call_id != "call-1") return AdmitWithoutGrants();
    return absl::StatusOr<std::unique_ptr<Admitted>>(
        MakeError(ErrorCode::kDeniedByRule, "the rule `git push` denies it"));
  };
  const std::vector<ToolCallOutcome> outcomes = fixture.Step().RunBatch(Calls(3));
  CHECK(outcomes.at(0).status.ok());
  CHECK(outcomes.at(2).status.ok());
  CheckFailed(outcomes.at(1), ErrorCode::kDeniedByRule, "refused");
  const std::string& text = outcomes.at(1).result.text;
  CHECK(text.find("the rule `git push` denies it") != std::string::npos);
  CHECK(text.find("requested: command.execute git push\\x1b\n") != std::string::npos);
  CHECK(text.find("only the user can remove the rule") != std::string::npos);
  CHECK(fixture.log.EventsOf(outcomes.at(1).execution_id) == Events{"request", "refused"});
}

TEST_CASE("a refusal at dispatch fails only its own call") {
  Fixture fixture;
  fixture.admission.on_admit = [](const Request& request, std::stop_token) {
    const bool is_stale = request.call_id == "call-0";
    return AdmitWith([is_stale]() -> absl::StatusOr<std::vector<Grant>> {
      if (is_stale) return MakeError(ErrorCode::kApprovalStale, "the rules changed");
      return std::vector<Grant>();
    });
  };
  const std::vector<ToolCallOutcome> outcomes = fixture.Step().RunBatch(Calls(2));
  CheckFailed(outcomes.at(0), ErrorCode::kApprovalStale, "the rules changed");
  CHECK(outcomes.at(1).status.ok());
  CHECK(fixture.log.EventsOf(outcomes.at(0).execution_id) ==
        Events{"request", "decision", "refused"});
}

TEST_CASE("calls run at the same time, but never more than max_parallel") {
  for (const std::size_t max_parallel : {1U, 3U, 16U}) {
    Fixture fixture;
    fixture.options.max_parallel = max_parallel;
    constexpr int kCalls = 12;
    const int expected = std::min(kCalls, static_cast<int>(max_parallel));
    Rendezvous together;
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    fixture.tool.on_run = [&](const PreparedCall&, std::vector<Grant>, std::stop_token) {
      const int now = ++running;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      const bool have_met = together.ArriveAndWaitFor(expected);
      --running;
      return ToolResult{have_met ? "met" : "alone", "", false};
    };
    for (const ToolCallOutcome& outcome : fixture.Step().RunBatch(Calls(kCalls))) {
      CHECK(outcome.result.text == "met");
    }
    CHECK(most == expected);
  }
}

TEST_CASE("outcomes have the order of the calls, whichever ends first") {
  Fixture fixture;
  fixture.options.max_parallel = 2;
  Rendezvous second_is_done;
  fixture.tool.on_run = [&](const PreparedCall& call, std::vector<Grant>, std::stop_token) {
    const std::string arguments = FakeTool::Arguments(call);
    if (arguments == "0" && !second_is_done.ArriveAndWaitFor(2))
      return ToolResult{"late", "", false};
    if (arguments == "1") second_is_done.ArriveAndWaitFor(0);
    return ToolResult{"ran " + arguments, "", false};
  };
  const std::vector<ToolCallOutcome> outcomes = fixture.Step().RunBatch(Calls(2));
  CHECK(outcomes.at(0).result.text == "ran 0");
  CHECK(outcomes.at(1).result.text == "ran 1");
}

TEST_CASE("a cancellation in the middle keeps what has finished and starts nothing more") {
  Fixture fixture;
  fixture.options.max_parallel = 1;
  std::stop_source source;
  fixture.tool.on_run = [&](const PreparedCall& call, std::vector<Grant>, std::stop_token stop) {
    const std::string arguments = FakeTool::Arguments(call);
    if (arguments == "1") source.request_stop();
    return ToolResult{"ran " + arguments + (stop.stop_requested() ? ", told to stop" : ""), "",
                      false};
  };
  const std::vector<ToolCallOutcome> outcomes =
      fixture.Step().RunBatch(Calls(4), source.get_token());
  CHECK(outcomes.at(0).result.text == "ran 0");
  CHECK(outcomes.at(1).result.text == "ran 1, told to stop");
  CHECK(outcomes.at(1).status.ok());
  CheckFailed(outcomes.at(2), ErrorCode::kCancelled, "cancelled");
  CheckFailed(outcomes.at(3), ErrorCode::kCancelled, "cancelled");
  CHECK(fixture.log.EventsOf(outcomes.at(3).execution_id) ==
        Events{"request", "decision", "refused"});
}

TEST_CASE("a cancellation during the approvals asks nobody else and runs nothing") {
  Fixture fixture;
  std::stop_source source;
  int asked = 0;
  int ran = 0;
  fixture.admission.on_admit =
      [&](const Request&, std::stop_token stop) -> absl::StatusOr<std::unique_ptr<Admitted>> {
    if (++asked < 2) return AdmitWithoutGrants();
    source.request_stop();
    CHECK(stop.stop_requested());
    return MakeError(ErrorCode::kCancelled, "nobody waits for the answer any more");
  };
  fixture.tool.on_run = [&](const PreparedCall&, std::vector<Grant>, std::stop_token) {
    ++ran;
    return ToolResult{};
  };
  for (const ToolCallOutcome& outcome : fixture.Step().RunBatch(Calls(4), source.get_token())) {
    CheckFailed(outcome, ErrorCode::kCancelled, "cancelled");
  }
  CHECK(asked == 2);
  CHECK(ran == 0);
}

TEST_CASE("a call cancelled beforehand is not even prepared") {
  Fixture fixture;
  fixture.tool.on_prepare = [](std::string_view, const PrepareContext&) {
    FAIL_CHECK("prepared");
    return MakeError(ErrorCode::kInternal, "");
  };
  std::stop_source source;
  source.request_stop();
  CheckFailed(fixture.Step().Run({"call", "fake", "{}"}, source.get_token()), ErrorCode::kCancelled,
              "cancelled");
}

TEST_CASE("many threads may use one step") {
  const Fixture fixture;
  const ToolCallStep step = fixture.Step();
  std::atomic<int> fine = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (const ToolCallOutcome& outcome : step.RunBatch(Calls(8))) {
          if (outcome.status.ok()) ++fine;
        }
      });
    }
  }
  CHECK(fine == 64);
}

}  // namespace
}  // namespace cordon
