// The Bash tool, the gate and a sandbox, wired as an assistant does.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_WIRING_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_WIRING_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cordon/bash/bash_tool.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/tool_call.h"
#include "integration/support/gated_sandbox.h"
#include "nlohmann/json.hpp"

namespace cordon::test {

[[nodiscard]] ApprovalAnswer Approve(Remember remember = Remember::kOnce);
[[nodiscard]] ApprovalAnswer Refuse(std::string words = {});

class Wiring {
 public:
  // `answers` are given in order; after them nobody is there.
  explicit Wiring(std::vector<ApprovalAnswer> answers,
                  const std::function<void(ProfileConfig&)>& change = {}, LogSink* log = nullptr);

  [[nodiscard]] static ToolCall Call(const std::string& command,
                                     const nlohmann::json& more = nlohmann::json::object(),
                                     const std::string& id = "c1");
  [[nodiscard]] ToolCallOutcome Run(const std::string& command,
                                    const nlohmann::json& more = nlohmann::json::object(),
                                    std::stop_token stop = {}) const;
  [[nodiscard]] std::size_t questions() const { return approver->cards().size(); }

  GatedSandbox sandbox;
  std::shared_ptr<RuleSet> rules = RuleSet::InMemory();
  std::shared_ptr<ScriptedApprover> approver;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<BashTool> tool;
  std::unique_ptr<ToolCallStep> step;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_WIRING_H_
