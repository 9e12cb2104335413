// The tools for background jobs through the real gate and sandbox, as a model calls them.

#include "cordon/bash/job_tools.h"

#include <memory>
#include <string>
#include <vector>

#include "cordon/bash/bash_tool.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/tool_call.h"
#include "integration/support/cordon_run.h"
#include "integration/support/gated_sandbox.h"
#include "integration/support/waiting.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using std::chrono::seconds;

ApprovalAnswer Answer(bool approved, Remember remember = Remember::kOnce) {
  ApprovalAnswer answer;
  answer.approved = approved;
  answer.remember = remember;
  return answer;
}

// All four tools, a gate with scripted answers, and a sandbox.
class Assistant {
 public:
  explicit Assistant(Access command = Access::kAllow, std::vector<ApprovalAnswer> answers = {})
      : sandbox([command](ProfileConfig& config) { config.command = command; }),
        approver(std::make_shared<ScriptedApprover>(std::move(answers))) {
    auto opened = ProcessRegistry::OpenTemporary(sandbox.ground().outside());
    REQUIRE(opened.ok());
    jobs = *std::move(opened);
    BashToolOptions bash_options;
    bash_options.jobs = jobs;
    bash = BashTool::Create(sandbox.shared_executor(), bash_options).value();
    tools = MakeJobTools({jobs, "session", sandbox.shared_executor()}).value();
    GateOptions gate_options;
    gate_options.profile = sandbox.profile();
    gate_options.rules = rules;
    gate_options.approver = approver;
    gate_options.authorities = {sandbox.executor().grant_authority()};
    gate = Gate::Create(gate_options).value();
    ToolCallOptions options;
    options.tools = {bash.get(), tools.output.get(), tools.input.get(), tools.stop.get()};
    options.admission = gate.get();
    step = std::make_unique<ToolCallStep>(ToolCallStep::Create(options).value());
  }

  ToolCallOutcome Call(const std::string& tool, const json& arguments) {
    return step->Run({"call", tool, arguments.dump()});
  }
  json Structure(const std::string& tool, const json& arguments) {
    const ToolCallOutcome outcome = Call(tool, arguments);
    INFO(outcome.result.text);
    REQUIRE(outcome.status.ok());
    return json::parse(outcome.result.structured_json);
  }
  std::string Background(const std::string& command) {
    const json result = Structure("bash", {{"command", command}, {"background", true}});
    CHECK(result["outcome"] == "running");
    CHECK(result["exit_code"].is_null());
    return result["handle"];
  }

  GatedSandbox sandbox;
  std::shared_ptr<ScriptedApprover> approver;
  std::shared_ptr<RuleSet> rules = RuleSet::InMemory();
  std::shared_ptr<ProcessRegistry> jobs;
  std::unique_ptr<BashTool> bash;
  JobTools tools;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<ToolCallStep> step;
};

TEST_CASE("a job is started, read piece by piece, and its end is told with the next result") {
  Assistant assistant;
  const std::string job = assistant.Background("echo one; read x; echo two-$x; exit 4");
  const json first = assistant.Structure("bash_output", {{"handle", job}, {"wait_ms", 20000}});
  CHECK(first["output"] == "one\n");
  CHECK(first["at_end"] == false);
  CHECK(assistant.Structure("bash_output", {{"handle", job}})["output"] == "");
  CHECK(assistant.Call("bash_input", {{"handle", job}, {"input", "in\n"}}).status.ok());
  REQUIRE(Within(seconds(20),
                 [&] { return assistant.jobs->Find("session", job)->state == JobState::kEnded; }));
  const ToolCallOutcome other = assistant.Call("bash", {{"command", "echo unrelated"}});
  CHECK(Has(other.result.text, job + " exit code: 4"));
  CHECK(json::parse(other.result.structured_json)["ended_jobs"][0]["handle"] == job);
  const ToolCallOutcome again = assistant.Call("bash", {{"command", "echo unrelated"}});
  CHECK_FALSE(Has(again.result.text, job));
  const json rest = assistant.Structure("bash_output", {{"handle", job}});
  CHECK(rest["output"] == "two-in\n");
  CHECK(rest["at_end"] == true);
  CHECK(rest["job"]["exit_code"] == 4);
  CHECK(assistant.Structure("bash_output",
                            {{"handle", job}, {"cursor", 0}, {"max_bytes", 64}})["output"] ==
        "one\ntwo-in\n");
}

TEST_CASE("without a handle the jobs are listed, and one can be waited for") {
  Assistant assistant;
  CHECK(assistant.Structure("bash_output", json::object())["jobs"] == json::array());
  const std::string slow = assistant.Background("sleep 30");
  const std::string quick = assistant.Background("sleep 0.2");
  const json list =
      assistant.Structure("bash_output", {{"wait_ms", 20000}, {"wait_for", "any_end"}})["jobs"];
  REQUIRE(list.size() == 2);
  CHECK(list[0]["handle"] == slow);
  CHECK(list[0]["state"] == "running");
  CHECK(list[1]["state"] == "ended");
}

TEST_CASE("stopping a job ends it and says so, and a second time changes nothing") {
  Assistant assistant;
  const std::string job = assistant.Background("sleep 30");
  const json stopped = assistant.Structure("bash_stop", {{"handle", job}});
  CHECK(stopped["job"]["state"] == "ended");
  CHECK(stopped["job"]["outcome"] == "cancelled");
  CHECK(Has(assistant.Call("bash_stop", {{"handle", job}}).result.text, "had ended before"));
}

TEST_CASE("a text that is no whole character yet is left for the next call") {
  Assistant assistant;
  const std::string job = assistant.Background(
      R"(printf 'a\303'; while [ ! -e go ]; do sleep 0.05; done; printf '\251b'; printf '\303')");
  REQUIRE(
      Within(seconds(20), [&] { return assistant.jobs->Find("session", job)->output_bytes == 2; }));
  CHECK(assistant.Structure("bash_output", {{"handle", job}})["output"] == "a");
  assistant.sandbox.ground().MakeFile("go", "");
  const json rest = assistant.Structure(
      "bash_output", {{"handle", job}, {"wait_ms", 20000}, {"wait_for", "all_end"}});
  CHECK(rest["output"] == "\u00e9b\ufffd");
  CHECK(rest["invalid_utf8"] == true);
}

TEST_CASE("under a gate each input is asked for, and a refused one is not written") {
  Assistant assistant(Access::kGated, {Answer(true), Answer(true), Answer(false)});
  const std::string job = assistant.Background("while read x; do echo got-$x; done");
  CHECK(assistant.Call("bash_input", {{"handle", job}, {"input", "yes\n"}}).status.ok());
  const ToolCallOutcome refused =
      assistant.Call("bash_input", {{"handle", job}, {"input", "no\n"}, {"description", "words"}});
  CHECK(CodeOf(refused.status) == "refused_by_person");
  CHECK(CodeOf(assistant.Call("bash_input", {{"handle", job}, {"input", "x\n"}}).status) ==
        "no_approver");

  const std::vector<ApprovalCard> cards = assistant.approver->cards();
  REQUIRE(cards.size() == 4);
  CHECK(Has(cards[1].request.command->shell_text, "yes\n"));
  CHECK(Has(cards[1].request.command->shell_text, job));
  CHECK(cards[2].request.model_description == "words");
  // Only the end of the input needs nobody.
  CHECK(assistant.Call("bash_input", {{"handle", job}, {"eof", true}}).status.ok());
  const json output = assistant.Structure(
      "bash_output", {{"handle", job}, {"wait_ms", 20000}, {"wait_for", "all_end"}});
  CHECK(output["output"] == "got-yes\n");
}

TEST_CASE("input that was approved once is written once") {
  Assistant assistant(Access::kGated, {Answer(true)});
  const std::string job = assistant.Background("while read x; do echo got-$x; done");
  const auto prepared = assistant.tools.input->Prepare(
      json({{"handle", job}, {"input", "in\n"}}).dump(), {"call", "execution"});
  REQUIRE(prepared.ok());
  CHECK(CodeOf(assistant.tools.input->Run(*prepared, {}, {}).status()) == "grant_required");
  const auto again = assistant.tools.input->Prepare(
      json({{"handle", job}, {"input", "in\n"}}).dump(), {"call", "execution"});
  const auto grant = assistant.sandbox.GrantFor(*again->request().command, "execution");
  REQUIRE(grant.ok());
  const std::string token = grant->token();
  std::vector<Grant> grants;
  grants.emplace_back(token);
  CHECK(assistant.tools.input->Run(*again, std::move(grants), {}).ok());
  std::vector<Grant> replayed;
  replayed.emplace_back(token);
  const auto third = assistant.tools.input->Prepare(
      json({{"handle", job}, {"input", "in\n"}}).dump(), {"call", "execution"});
  CHECK(CodeOf(assistant.tools.input->Run(*third, std::move(replayed), {}).status()) ==
        "grant_replayed");
}

TEST_CASE("no rule for a command reaches input, and a denied family makes a person be asked") {
  Assistant assistant(Access::kAllow, {Answer(false)});
  std::vector<Rule> rules = {MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value()};
  REQUIRE(assistant.rules->Add(std::move(rules), false).ok());
  CHECK(CodeOf(assistant.Call("bash", {{"command", "rm -f x"}}).status) == "denied_by_rule");
  const std::string job = assistant.Background("cat");
  // Under a rule like this nothing that cannot be seen through goes unasked.
  CHECK(CodeOf(assistant.Call("bash_input", {{"handle", job}, {"input", "rm -f x\n"}}).status) ==
        "refused_by_person");

  Assistant gated(Access::kGated, {Answer(true)});
  std::vector<Rule> allowed = {
      MakeRule(RuleEffect::kAllow, RuleMatch::kCommandFamily, "git status").value(),
      MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, "git status\n").value()};
  REQUIRE(gated.rules->Add(std::move(allowed), false).ok());
  CHECK_FALSE(CodeOf(gated.Call("bash", {{"command", "git status"}}).status) == "no_approver");
  const std::string shell = gated.Background("sh");
  CHECK(CodeOf(gated.Call("bash_input", {{"handle", shell}, {"input", "git status\n"}}).status) ==
        "no_approver");
}

TEST_CASE("malformed calls of the job tools are refused with what to write instead") {
  Assistant assistant;
  const auto refusal = [&assistant](const std::string& tool, const json& arguments) {
    const ToolCallOutcome outcome = assistant.Call(tool, arguments);
    CHECK_FALSE(outcome.status.ok());
    CHECK(outcome.result.is_error);
    return outcome.result.text;
  };
  CHECK(Has(refusal("bash_output", {{"handel", "x"}}), "\"handle\""));
  CHECK(Has(refusal("bash_output", {{"handle", "job-1"}}), "there are none"));
  CHECK(Has(refusal("bash_output", {{"wait_for", "end"}}), "any_end"));
  CHECK(Has(refusal("bash_output", {{"wait_ms", 600001}}), "600000"));
  CHECK(Has(refusal("bash_output", {{"max_bytes", 1}}), "at least"));
  CHECK(Has(refusal("bash_input", {{"handle", "job-1"}}), "eof"));
  CHECK(Has(refusal("bash_input", {{"input", "x"}}), "\"handle\" is missing"));
  CHECK(Has(refusal("bash_stop", json::object()), "\"handle\" is missing"));
  CHECK(Has(refusal("bash_stop", {{"handle", 1}}), "string"));
}

TEST_CASE("a folder that was named stays for later calls, until it is gone, which is said") {
  Assistant assistant;
  assistant.sandbox.ground().MakeFolder("sub");
  const std::string workspace = assistant.sandbox.ground().workspace();
  const auto where = [&assistant](const json& more) {
    json arguments = {{"command", "pwd"}};
    arguments.update(more);
    return assistant.Structure("bash", arguments);
  };
  CHECK(where(json::object())["stdout"] == workspace + "\n");
  CHECK(where({{"workdir", "sub"}})["stdout"] == workspace + "/sub\n");
  const json kept = where(json::object());
  CHECK(kept["stdout"] == workspace + "/sub\n");
  CHECK(kept["workdir"] == workspace + "/sub");
  CHECK(kept["notes"] == json::array());

  assistant.sandbox.ground().Remove("sub");
  const json gone = where(json::object());
  CHECK(gone["stdout"] == workspace + "\n");
  REQUIRE(gone["notes"].size() == 1);
  CHECK(Has(gone["notes"][0].get<std::string>(), workspace + "/sub, is gone"));

  // A link in its place is another folder.
  assistant.sandbox.ground().MakeFolder("other");
  assistant.sandbox.ground().MakeLink("sub", "other");
  CHECK(where(json::object())["stdout"] == workspace + "\n");
}

}  // namespace
}  // namespace cordon::test
