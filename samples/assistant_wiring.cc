// How a coding assistant is wired: a least-authority profile, an executor bound to the Bash tool, a
// gate in front, and a look at what the host really enforces before anything runs.
#include <filesystem>
#include <iostream>
#include <memory>

#include "cordon/bash/bash_tool.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/grants.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/tool_call.h"

int main() {
  cordon::Init();  // Starts the launcher while the program is small; optional.

  // The assistant may look at the workspace. It may not write, connect, or see anything else, and
  // each command needs an approval.
  cordon::ProfileConfig config;
  config.workspace_root = std::filesystem::current_path();
  config.workspace_read = cordon::Access::kAllow;
  config.command = cordon::Access::kGated;
  const auto profile = cordon::Profile::Create(config).value();

  // One executor per assistant; its grants are signed with a key that no other executor knows.
  cordon::ExecutorSetOptions set_options;
  set_options.scratch_root = std::filesystem::temp_directory_path();
  set_options.max_executors = 1;
  set_options.make_authority = cordon::HmacGrantAuthorityFactory();
  const auto set = cordon::ExecutorSet::Create(profile, set_options).value();
  const auto executor = set->For("coding-assistant").value();

  // Asked for and achieved are two things. A host that cannot give these boundaries is refused.
  const cordon::Guarantees guarantees = executor->Guarantees();
  if (!guarantees.process_boundary || !guarantees.write_boundary) {
    for (const cordon::ReportEntry& entry : executor->Report().entries) {
      std::cerr << entry.feature << ": " << entry.detail << '\n';
    }
    return 1;
  }

  // Here everything is approved; see approval_callback.cc for a person.
  cordon::GateOptions gate_options;
  gate_options.profile = profile;
  gate_options.approver = std::make_shared<cordon::ApproveEverything>();
  gate_options.authorities = {executor->grant_authority()};
  const auto gate = cordon::Gate::Create(gate_options).value();

  const auto bash = cordon::BashTool::Create(executor).value();
  cordon::ToolCallOptions step_options;
  step_options.tools = {bash.get()};
  step_options.admission = gate.get();
  const auto step = cordon::ToolCallStep::Create(step_options).value();

  // What a model would send, and what it gets to read.
  const auto outcome = step.Run({"call-1", "bash", R"({"command": "id -u; touch x"})"});
  std::cout << outcome.result.text;
  return outcome.status.ok() ? 0 : 1;
}
