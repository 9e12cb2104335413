#include "cordon/sdk/tool_call.h"

#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
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
using Events = std::vector<std::string>;

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
