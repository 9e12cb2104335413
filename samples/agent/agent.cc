#include "agent.h"

#include <utility>

#include "cordon/sdk/status.h"

namespace cordon::agent {
namespace {

std::vector<ToolSpec> Describe(const std::vector<Tool*>& tools) {
  std::vector<ToolSpec> specs;
  for (const Tool* tool : tools) {
    specs.push_back({std::string(tool->name()), tool->description(), tool->input_schema_json()});
  }
  return specs;
}

// One batch: every call of a turn is answered, also those that were refused.
void RunCalls(const AgentOptions& options, const std::vector<ToolCall>& calls, std::stop_token stop,
              AgentResult& result) {
  if (options.observer != nullptr) options.observer->OnCalls(calls);
  std::vector<ToolCallOutcome> outcomes = options.step->RunBatch(calls, std::move(stop));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (options.observer != nullptr) options.observer->OnOutcome(calls[i], outcomes[i]);
    Message answer;
    answer.role = Role::kTool;
    answer.text = outcomes[i].result.text;
    answer.call_id = outcomes[i].call_id;
    answer.is_error = outcomes[i].result.is_error;
    result.transcript.push_back(std::move(answer));
    result.steps.push_back({calls[i], std::move(outcomes[i])});
  }
}

}  // namespace

absl::StatusOr<AgentResult> RunAgent(const AgentOptions& options, std::string task,
                                     std::stop_token stop) {
  const std::vector<ToolSpec> specs = Describe(options.tools);
  AgentResult result;
  result.transcript.push_back({Role::kUser, std::move(task), {}, "", false});

  for (std::size_t turns = 0; turns < options.max_turns; ++turns) {
    if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "the agent was stopped");
    absl::StatusOr<Turn> turn = options.model->Next(result.transcript, specs, stop);
    if (!turn.ok()) return turn.status();

    if (options.observer != nullptr && !turn->text.empty()) options.observer->OnText(turn->text);
    result.transcript.push_back({Role::kAssistant, turn->text, turn->calls, "", false});
    if (turn->calls.empty()) {
      result.finished = true;
      return result;
    }
    RunCalls(options, turn->calls, stop, result);
  }
  return result;
}

}  // namespace cordon::agent
