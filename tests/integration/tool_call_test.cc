// A model's call from its arguments to its result, through the real tool, gate and sandbox.

#include "cordon/sdk/tool_call.h"

#include <set>
#include <string>
#include <vector>

#include "cordon/bash/bash_tool.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/audit.h"
#include "cordon/gate/gate.h"
#include "cordon/sdk/status.h"
#include "integration/support/cordon_run.h"
#include "integration/support/gated_sandbox.h"
#include "integration/support/wiring.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

TEST_CASE("an approved call runs once and its result is what the model sees") {
  const Wiring wiring({Approve()});
  const ToolCallOutcome outcome = wiring.Run("echo to-output; echo to-errors >&2; echo x >>made");
  REQUIRE(CodeOf(outcome.status) == "ok");
  CHECK(outcome.call_id == "c1");
  CHECK(outcome.result.text == "exit code: 0\nstdout:\nto-output\nstderr:\nto-errors\n");
  CHECK_FALSE(outcome.result.is_error);
  CHECK(json::parse(outcome.result.structured_json)["exit_code"] == 0);
  CHECK(wiring.questions() == 1);
  CHECK(wiring.sandbox.ground().Read("made") == "x\n");
}

TEST_CASE("what the card shows is the command that runs") {
  const Wiring wiring({Approve()});
  (void)wiring.Run("echo shown");
  const std::vector<ApprovalCard> cards = wiring.approver->cards();
  REQUIRE(cards.size() == 1);
  REQUIRE(cards[0].request.command.has_value());
  CHECK(cards[0].request.command->shell_text == "echo shown");
  CHECK(cards[0].request.command->working_directory == wiring.sandbox.ground().workspace());
  CHECK(cards[0].digest == RequestDigest(cards[0].request));
}

TEST_CASE("a refused call does not run and the model reads the person's words") {
  const Wiring wiring({Refuse("use make instead")});
  const ToolCallOutcome outcome = wiring.Run("echo x >made");
  CHECK(CodeOf(outcome.status) == "refused_by_person");
  CHECK(Has(outcome.result.text, "use make instead"));
  CHECK_FALSE(wiring.sandbox.ground().Exists("made"));
}

TEST_CASE("with nobody to ask a gated call does not run and an allowed one does") {
  const Wiring gated({});
  CHECK(CodeOf(gated.Run("echo x >made").status) == "no_approver");
  CHECK_FALSE(gated.sandbox.ground().Exists("made"));
  const Wiring allowed({}, [](ProfileConfig& config) { config.command = Access::kAllow; });
  CHECK(CodeOf(allowed.Run("echo x >made").status) == "ok");
  CHECK(allowed.sandbox.ground().Exists("made"));
}

TEST_CASE("an answer is not asked for again when it was given for the session") {
  const Wiring wiring({Approve(Remember::kSession)});
  CHECK(CodeOf(wiring.Run("echo x >>made").status) == "ok");
  CHECK(CodeOf(wiring.Run("echo x >>made").status) == "ok");
  CHECK(wiring.sandbox.ground().Read("made") == "x\nx\n");
  CHECK(wiring.questions() == 1);
  CHECK(CodeOf(wiring.Run("echo y >>made").status) == "no_approver");
}

TEST_CASE("a stored denial holds where the profile allows and nobody is asked") {
  const Wiring wiring({Approve()}, [](ProfileConfig& config) { config.command = Access::kAllow; });
  const auto rule = MakeRule(RuleEffect::kDeny, RuleMatch::kExactCommand, "echo x >made");
  REQUIRE(rule.ok());
  REQUIRE(wiring.rules->Add({*rule}, false).ok());
  CHECK(CodeOf(wiring.Run("echo x >made").status) == "denied_by_rule");
  CHECK_FALSE(wiring.sandbox.ground().Exists("made"));
  CHECK(wiring.questions() == 0);
  CHECK(CodeOf(wiring.Run("echo y >made").status) == "ok");
}

TEST_CASE("a batch is answered in order and a refusal fails only its own call") {
  const Wiring wiring({Approve(), Refuse(), Approve()});
  const std::vector<ToolCall> calls = {Wiring::Call("echo one", json::object(), "a"),
                                       Wiring::Call("echo two", json::object(), "b"),
                                       Wiring::Call("echo three; exit 3", json::object(), "c"),
                                       {"d", "bash", R"({"command": 7})"},
                                       {"e", "unknown", "{}"}};
  const std::vector<ToolCallOutcome> outcomes = wiring.step->RunBatch(calls);
  REQUIRE(outcomes.size() == 5);
  for (std::size_t i = 0; i < outcomes.size(); ++i) CHECK(outcomes[i].call_id == calls[i].id);
  CHECK(Has(outcomes[0].result.text, "one"));
  CHECK(CodeOf(outcomes[1].status) == "refused_by_person");
  CHECK(CodeOf(outcomes[2].status) == "ok");
  CHECK(json::parse(outcomes[2].result.structured_json)["exit_code"] == 3);
  CHECK(CodeOf(outcomes[3].status) == "invalid_arguments");
  CHECK(CodeOf(outcomes[4].status) == "invalid_arguments");
  CHECK(wiring.questions() == 3);
}

TEST_CASE("access that a call declares is asked for with it and opens nothing for the next call") {
  Ground elsewhere;
  const std::string file = elsewhere.MakeFile(elsewhere.outside() + "/file", "granted-text");
  const Wiring wiring({Approve(), Approve()}, [&](ProfileConfig& config) {
    config.additional_roots.push_back({elsewhere.outside(), Access::kGated, Access::kDeny});
  });
  const json access = {
      {"access", json::array({{{"kind", "filesystem.read"}, {"path", file}, {"tree", false}}})}};
  const ToolCallOutcome with = wiring.Run("cat " + file, access);
  REQUIRE(CodeOf(with.status) == "ok");
  CHECK(Has(with.result.text, "granted-text"));
  REQUIRE(wiring.questions() == 1);
  CHECK(wiring.approver->cards()[0].pending.size() == 2);
  const ToolCallOutcome without = wiring.Run("cat " + file);
  CHECK(CodeOf(without.status) == "ok");
  CHECK_FALSE(Has(without.result.text, "granted-text"));
}

TEST_CASE("access that the profile denies cannot be approved") {
  Ground elsewhere;
  const std::string file = elsewhere.MakeFile(elsewhere.outside() + "/file", "text");
  const Wiring wiring({Approve()});
  const json access = {
      {"access", json::array({{{"kind", "filesystem.read"}, {"path", file}, {"tree", false}}})}};
  CHECK(CodeOf(wiring.Run("echo x >made", access).status) == "policy_denied");
  CHECK(wiring.questions() == 0);
  CHECK_FALSE(wiring.sandbox.ground().Exists("made"));
}

TEST_CASE("the log tells the whole story of a call under one execution id and no token") {
  const Ground place;
  const std::string path = place.root() + "/audit.jsonl";
  auto log = AuditLog::Open(path);
  INFO(log.status());
  REQUIRE(log.ok());
  std::string execution_id;
  {
    const Wiring wiring({Approve(), Refuse()}, {}, log->get());
    const ToolCallOutcome outcome = wiring.Run("echo x");
    REQUIRE(CodeOf(outcome.status) == "ok");
    execution_id = outcome.execution_id;
    (void)wiring.Run("echo y");
  }
  std::set<std::string> events;
  REQUIRE(ReadAuditLog(path, [&](const AuditRecord& record) {
            if (record.execution_id == execution_id) events.insert(record.event);
            return true;
          }).ok());
  for (const char* event :
       {"request", "decision", "grant.issued", "grant.consumed", "spawn", "exit", "result"}) {
    INFO(event);
    CHECK(events.count(event) == 1);
  }
  CHECK_FALSE(Has(place.Read(path), "v1."));
  const auto verified = VerifyAuditLog(path);
  REQUIRE(verified.ok());
  CHECK(verified->intact);
}

TEST_CASE("a failing command is a result and a missing folder is an error with a hint") {
  const Wiring wiring({Approve(), Approve()});
  const ToolCallOutcome failing = wiring.Run("echo partial; exit 9");
  CHECK(CodeOf(failing.status) == "ok");
  CHECK(Has(failing.result.text, "partial"));
  CHECK(json::parse(failing.result.structured_json)["exit_code"] == 9);
  CHECK(CodeOf(wiring.Run("true", {{"workdir", "missing"}}).status) == "not_found");
}

}  // namespace
}  // namespace cordon::test
