// Asking a person through the host application: the gate calls back with a card that shows exactly
// what will run, and the answer holds for exactly that.
#include <filesystem>
#include <iostream>
#include <memory>

#include "cordon/bash/bash_tool.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/grants.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/tool_call.h"

namespace {

// Stands for a dialog: whoever sits here likes `make`, and nothing that removes.
absl::StatusOr<cordon::ApprovalAnswer> AskPerson(const cordon::ApprovalCard& card,
                                                 std::stop_token) {
  std::cout << "\nthe model says: " << cordon::EscapeForDisplay(card.request.model_description)
            << '\n';
  for (const cordon::Requirement& need : card.pending) {
    std::cout << cordon::CapabilityKindName(need.kind) << ": " << need.display << '\n';
  }
  cordon::ApprovalAnswer answer;
  answer.digest = card.digest;  // For this card and no other.
  answer.approved = card.request.command->shell_text.find("rm ") == std::string::npos;
  if (!answer.approved) answer.words = "please do not remove anything";
  return answer;
}

}  // namespace

int main() {
  cordon::ProfileConfig config;
  config.workspace_root = std::filesystem::current_path();
  config.workspace_read = cordon::Access::kAllow;
  config.command = cordon::Access::kGated;
  const auto profile = cordon::Profile::Create(config).value();

  cordon::ExecutorSetOptions set_options;
  set_options.scratch_root = std::filesystem::temp_directory_path();
  set_options.max_executors = 1;
  set_options.make_authority = cordon::HmacGrantAuthorityFactory();
  const auto set = cordon::ExecutorSet::Create(profile, set_options).value();
  const auto executor = set->For("assistant").value();

  cordon::GateOptions gate_options;
  gate_options.profile = profile;
  gate_options.approver = std::make_shared<cordon::CallbackApprover>(AskPerson);
  gate_options.authorities = {executor->grant_authority()};
  const auto gate = cordon::Gate::Create(gate_options).value();

  const auto bash = cordon::BashTool::Create(executor).value();
  const auto step = cordon::ToolCallStep::Create({{bash.get()}, gate.get()}).value();
  for (const char* arguments : {R"({"command": "echo built", "description": "builds it"})",
                                R"({"command": "rm -r src", "description": "tidies up"})"}) {
    std::cout << step.Run({"call", "bash", arguments}).result.text;
  }
}
