#include "integration/support/wiring.h"

#include <utility>

#include "support/catch.h"

namespace cordon::test {

ApprovalAnswer Approve(Remember remember) {
  ApprovalAnswer answer;
  answer.approved = true;
  answer.remember = remember;
  return answer;
}

ApprovalAnswer Refuse(std::string words) {
  ApprovalAnswer answer;
  answer.words = std::move(words);
  return answer;
}

Wiring::Wiring(std::vector<ApprovalAnswer> answers,
               const std::function<void(ProfileConfig&)>& change, LogSink* log)
    : sandbox(change, log), approver(std::make_shared<ScriptedApprover>(std::move(answers))) {
  GateOptions options;
  options.profile = sandbox.profile();
  options.rules = rules;
  options.approver = approver;
  options.log = log;
  options.authorities = {sandbox.executor().grant_authority()};
  auto made_gate = Gate::Create(options);
  INFO(made_gate.status());
  REQUIRE(made_gate.ok());
  gate = *std::move(made_gate);
  auto made_tool = BashTool::Create(sandbox.shared_executor());
  INFO(made_tool.status());
  REQUIRE(made_tool.ok());
  tool = *std::move(made_tool);
  ToolCallOptions step_options;
  step_options.tools = {tool.get()};
  step_options.admission = gate.get();
  step_options.log = log;
  auto made_step = ToolCallStep::Create(step_options);
  REQUIRE(made_step.ok());
  step = std::make_unique<ToolCallStep>(*std::move(made_step));
}

ToolCall Wiring::Call(const std::string& command, const nlohmann::json& more,
                      const std::string& id) {
  nlohmann::json arguments = {{"command", command}};
  arguments.update(more);
  return {id, "bash", arguments.dump()};
}

ToolCallOutcome Wiring::Run(const std::string& command, const nlohmann::json& more,
                            std::stop_token stop) const {
  return step->Run(Call(command, more), std::move(stop));
}

}  // namespace cordon::test
