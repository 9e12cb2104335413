#include "cordon/sdk/tool_call.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "tool_call_fakes.h"

namespace cordon {
namespace {

using test::AdmitWith;
using test::AdmitWithoutGrants;
using test::FakeAdmission;
using test::FakeLog;
using test::FakeTool;
using test::Rendezvous;
using Events = std::vector<std::string>;

// A step over one fake tool, one fake admission and one fake log.
struct Fixture {
  Fixture() { options = {{&tool}, &admission, &log, 4, 256 * 1024}; }

  ToolCallStep Step() const {
    absl::StatusOr<ToolCallStep> step = ToolCallStep::Create(options);
    REQUIRE(step.ok());
    return *std::move(step);
  }
  ToolCallOutcome Run(std::string arguments = "{}") const {
    return Step().Run({"call", "fake", std::move(arguments)});
  }

  FakeTool tool;
  FakeAdmission admission;
  FakeLog log;
  ToolCallOptions options;
};

std::vector<ToolCall> Calls(int count) {
  std::vector<ToolCall> calls;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    calls.push_back({"call-" + number, "fake", number});
  }
  return calls;
}

void CheckFailed(const ToolCallOutcome& outcome, ErrorCode code, std::string_view words) {
  INFO(outcome.status);
  CHECK(Is(outcome.status, code));
  CHECK(outcome.result.is_error);
  CHECK(outcome.result.text.find(ErrorCodeName(code)) != std::string::npos);
  CHECK(outcome.result.text.find(words) != std::string::npos);
}

TEST_CASE("a step needs an admission, limits, and tools with names that differ") {
  Fixture fixture;
  FakeTool other("other");
  FakeTool same("fake");
  FakeTool nameless("");
  fixture.options.tools = {&fixture.tool, &other};
  const ToolCallOptions sound = fixture.options;
  CHECK(ToolCallStep::Create(sound).ok());
  const std::vector<std::function<void(ToolCallOptions&)>> faults = {
      [](ToolCallOptions& o) { o.admission = nullptr; },
      [](ToolCallOptions& o) { o.max_parallel = 0; },
      [](ToolCallOptions& o) { o.max_result_bytes = 0; },
      [&](ToolCallOptions& o) { o.tools.push_back(&same); },
      [](ToolCallOptions& o) { o.tools.push_back(nullptr); },
      [&](ToolCallOptions& o) { o.tools.push_back(&nameless); },
  };
  for (const auto& fault : faults) {
    ToolCallOptions options = sound;
    fault(options);
    CHECK(Is(ToolCallStep::Create(options).status(), ErrorCode::kInvalidOption));
  }
}

TEST_CASE("a call is prepared, admitted, minted for and run, in this order, with its grants") {
  Fixture fixture;
  Events order;
  fixture.tool.on_prepare = [&](std::string_view, const PrepareContext& context) {
    order.push_back("prepare");
    return PreparedCall(test::RequestFor(fixture.tool, context), SealedArtifact::Seal(7));
  };
  fixture.admission.on_admit = [&](const Request&, std::stop_token) {
    order.push_back("admit");
    return AdmitWith([&] {
      order.push_back("mint");
      return std::vector<Grant>{Grant("token-1"), Grant("token-2")};
    });
  };
  fixture.tool.on_run = [&](const PreparedCall& call, std::vector<Grant> grants, std::stop_token) {
    order.push_back("run");
    CHECK(grants.size() == 2);
    CHECK(grants.at(0).token() == "token-1");
    REQUIRE(call.artifact().Open<int>() != nullptr);
    CHECK(*call.artifact().Open<int>() == 7);
    return ToolResult{"done", "{\"ok\":true}", false};
  };
  const ToolCallOutcome outcome = fixture.Run();
  CHECK(outcome.status.ok());
  CHECK(outcome.call_id == "call");
  CHECK(outcome.execution_id.size() == 32);
  CHECK(outcome.result.text == "done");
  CHECK(outcome.result.structured_json == "{\"ok\":true}");
  CHECK_FALSE(outcome.result.is_error);
  CHECK(order == Events{"prepare", "admit", "mint", "run"});
  CHECK(fixture.log.EventsOf(outcome.execution_id) == Events{"request", "decision", "result"});
}

TEST_CASE("a tool's own failure is a result, not an error") {
  Fixture fixture;
  fixture.tool.on_run = [](const PreparedCall&, std::vector<Grant>, std::stop_token) {
    return ToolResult{"exit status 1", "", true};
  };
  const ToolCallOutcome outcome = fixture.Run();
  CHECK(outcome.status.ok());
  CHECK(outcome.result.is_error);
  CHECK(outcome.result.text == "exit status 1");
}

TEST_CASE("an artifact opens only as the type that was sealed") {
  struct Mine {
    int value;
  };
  struct LooksTheSame {
    int value;
  };
  const SealedArtifact artifact = SealedArtifact::Seal(Mine{7});
  REQUIRE(artifact.Open<Mine>() != nullptr);
  CHECK(artifact.Open<Mine>()->value == 7);
  CHECK(artifact.Open<LooksTheSame>() == nullptr);
  CHECK(artifact.Open<int>() == nullptr);
  CHECK(artifact.Open<const Mine>() == artifact.Open<Mine>());
  const SealedArtifact copy = artifact;
  CHECK(copy.Open<Mine>() == artifact.Open<Mine>());
}

TEST_CASE("an artifact that another tool sealed does not open") {
  Fixture fixture;
  FakeTool other("other");
  struct Foreign {};
  fixture.tool.on_prepare = [&](std::string_view, const PrepareContext& context) {
    return PreparedCall(test::RequestFor(fixture.tool, context), SealedArtifact::Seal(Foreign{}));
  };
  CHECK(fixture.Run().result.text == "not mine");
}

TEST_CASE("an unknown tool is refused with the names of the known ones") {
  Fixture fixture;
  FakeTool other("other");
  fixture.options.tools.push_back(&other);
  const ToolCallOutcome outcome = fixture.Step().Run({"call", "b\x1bsh", "{}"});
  CheckFailed(outcome, ErrorCode::kInvalidArguments, "b\\x1bsh");
  CHECK(outcome.result.text.find("fake, other") != std::string::npos);
  CHECK(fixture.log.EventsOf(outcome.execution_id) == Events{"refused"});
}

TEST_CASE("bad arguments are refused with the tool's own hint") {
  Fixture fixture;
  fixture.tool.on_prepare = [](std::string_view, const PrepareContext&) {
    return MakeError(ErrorCode::kInvalidArguments, "unknown member \"comand\"; is it \"command\"?");
  };
  CheckFailed(fixture.Run(), ErrorCode::kInvalidArguments, "is it \"command\"?");
}

TEST_CASE("exceptions of a tool are contained, whatever is thrown and wherever") {
  Fixture fixture;
  SECTION("std::exception while preparing") {
    fixture.tool.on_prepare = [](std::string_view,
                                 const PrepareContext&) -> absl::StatusOr<PreparedCall> {
      throw std::runtime_error("pre\x1bpare");
    };
    CheckFailed(fixture.Run(), ErrorCode::kToolFailed, "pre\\x1bpare");
  }
  SECTION("int while preparing") {
    fixture.tool.on_prepare =
        [](std::string_view, const PrepareContext&) -> absl::StatusOr<PreparedCall> { throw 7; };
    CheckFailed(fixture.Run(), ErrorCode::kToolFailed, "no std::exception");
  }
  SECTION("std::exception while running") {
    fixture.tool.on_run = [](const PreparedCall&, std::vector<Grant>,
                             std::stop_token) -> absl::StatusOr<ToolResult> {
      throw std::out_of_range("index");
    };
    const ToolCallOutcome outcome = fixture.Run();
    CheckFailed(outcome, ErrorCode::kToolFailed, "index");
    CHECK(fixture.log.EventsOf(outcome.execution_id) == Events{"request", "decision", "result"});
  }
  SECTION("int while running") {
    fixture.tool.on_run = [](const PreparedCall&, std::vector<Grant>,
                             std::stop_token) -> absl::StatusOr<ToolResult> { throw 7; };
    CheckFailed(fixture.Run(), ErrorCode::kToolFailed, "no std::exception");
  }
}

TEST_CASE("exceptions of the admission and of the log are contained, and nothing runs") {
  Fixture fixture;
  bool has_run = false;
  fixture.tool.on_run = [&](const PreparedCall&, std::vector<Grant>, std::stop_token) {
    has_run = true;
    return ToolResult{};
  };
  SECTION("while deciding") {
    fixture.admission.on_admit = [](const Request&,
                                    std::stop_token) -> absl::StatusOr<std::unique_ptr<Admitted>> {
      throw std::runtime_error("lost terminal");
    };
    CheckFailed(fixture.Run(), ErrorCode::kInternal, "lost terminal");
  }
  SECTION("while minting") {
    fixture.admission.on_admit = [](const Request&, std::stop_token) {
      return AdmitWith([]() -> absl::StatusOr<std::vector<Grant>> { throw 7; });
    };
    CheckFailed(fixture.Run(), ErrorCode::kInternal, "no std::exception");
  }
  SECTION("while logging") {
    fixture.log.on_append = [](const LogRecord&) -> absl::Status {
      throw std::runtime_error("disk full");
    };
    CheckFailed(fixture.Run(), ErrorCode::kLogFailed, "disk full");
  }
  CHECK_FALSE(has_run);
}

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

TEST_CASE("an admission without a decision admits nothing") {
  Fixture fixture;
  fixture.admission.on_admit = [](const Request&, std::stop_token) {
    return absl::StatusOr<std::unique_ptr<Admitted>>(nullptr);
  };
  CheckFailed(fixture.Run(), ErrorCode::kInternal, "no decision");
}

TEST_CASE("a request that contradicts itself reaches neither admission nor tool") {
  Fixture fixture;
  int admitted = 0;
  fixture.admission.on_admit = [&](const Request&, std::stop_token) {
    ++admitted;
    return AdmitWithoutGrants();
  };
  std::function<void(Request&)> change;
  fixture.tool.on_prepare = [&](std::string_view, const PrepareContext& context) {
    Request request = test::RequestFor(fixture.tool, context);
    change(request);
    return PreparedCall(std::move(request), SealedArtifact::Seal(0));
  };
  change = [](Request&) {};
  CHECK(fixture.Run().status.ok());
  CHECK(admitted == 1);

  change = [](Request& request) { request.authority = std::vector<Requirement>(); };
  CheckFailed(fixture.Run(), ErrorCode::kInvalidRequest, "empty");
  change = [](Request& request) {
    request.command = Command::Shell("make", "/w");
    request.authority = std::vector<Requirement>{RequireCommand(Command::Shell("id", "/w"))};
  };
  CheckFailed(fixture.Run(), ErrorCode::kInvalidRequest, "match");
  change = [](Request& request) { request.tool = "bash"; };
  CheckFailed(fixture.Run(), ErrorCode::kToolFailed, "another call");
  change = [](Request& request) { request.call_id = "other"; };
  CheckFailed(fixture.Run(), ErrorCode::kToolFailed, "another call");
  change = [](Request& request) { request.execution_id = "other"; };
  CheckFailed(fixture.Run(), ErrorCode::kToolFailed, "another call");
  CHECK(admitted == 1);
}

TEST_CASE("every call gets an execution id of its own") {
  const Fixture fixture;
  std::set<std::string> ids;
  for (const ToolCallOutcome& outcome : fixture.Step().RunBatch(Calls(20))) {
    CHECK(ids.insert(outcome.execution_id).second);
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

TEST_CASE("a log that fails stops the call before it runs") {
  for (const std::string failing : {"request", "decision"}) {
    Fixture fixture;
    bool has_run = false;
    fixture.tool.on_run = [&](const PreparedCall&, std::vector<Grant>, std::stop_token) {
      has_run = true;
      return ToolResult{};
    };
    fixture.log.on_append = [&](const LogRecord& record) {
      return record.event == failing ? MakeError(ErrorCode::kLogFailed, "disk full")
                                     : absl::OkStatus();
    };
    CheckFailed(fixture.Run(), ErrorCode::kLogFailed, "disk full");
    CHECK_FALSE(has_run);
  }
}

TEST_CASE("a log that fails after the run takes nothing back") {
  Fixture fixture;
  fixture.log.on_append = [](const LogRecord& record) {
    return record.event == "result" ? MakeError(ErrorCode::kLogFailed, "disk full")
                                    : absl::OkStatus();
  };
  const ToolCallOutcome outcome = fixture.Run("text");
  CHECK(outcome.status.ok());
  CHECK(outcome.result.text == "text");
}

TEST_CASE("a step works without a log") {
  Fixture fixture;
  fixture.options.log = nullptr;
  CHECK(fixture.Run("text").result.text == "text");
}

TEST_CASE("no grant and no argument is ever logged") {
  Fixture fixture;
  fixture.admission.on_admit = [](const Request&, std::stop_token) {
    return AdmitWith([] { return std::vector<Grant>{Grant("secret-token")}; });
  };
  CHECK(fixture.Run("secret-argument").status.ok());
  CHECK(fixture.log.records().size() == 3);
  for (const LogRecord& record : fixture.log.records()) {
    for (const auto& [name, value] : record.fields) {
      CHECK(value.find("secret") == std::string::npos);
    }
  }
}

TEST_CASE("an oversized result is cut to the limit between characters") {
  Fixture fixture;
  fixture.options.max_result_bytes = 1000;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xe6\x97\xa5";
  const ToolCallOutcome outcome = fixture.Run(text);
  CHECK(outcome.result.text.size() <= 1000);
  CHECK(outcome.result.text.size() > 980);
  CHECK(outcome.result.text.find("bytes omitted") != std::string::npos);
  CHECK(outcome.result.text.starts_with("\xe6\x97\xa5"));
  CHECK(outcome.result.text.ends_with("\xe6\x97\xa5"));
}

TEST_CASE("a refusal is bounded as well") {
  Fixture fixture;
  fixture.options.max_result_bytes = 300;
  fixture.tool.on_run = [](const PreparedCall&, std::vector<Grant>,
                           std::stop_token) -> absl::StatusOr<ToolResult> {
    throw std::runtime_error(std::string(100000, 'x'));
  };
  const ToolCallOutcome outcome = fixture.Run();
  CHECK(Is(outcome.status, ErrorCode::kToolFailed));
  CHECK(outcome.result.text.size() <= 300);
}

}  // namespace
}  // namespace cordon
