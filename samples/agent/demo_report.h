// The end of the demo: what ran, what was refused and why, what was enforced, and whether the host
// agrees.

#ifndef CORDON_SAMPLES_AGENT_DEMO_REPORT_H_
#define CORDON_SAMPLES_AGENT_DEMO_REPORT_H_

#include <string>
#include <vector>

#include "agent.h"
#include "cordon/sdk/enforcement_report.h"
#include "demo_script.h"
#include "terminal.h"

namespace cordon::agent {

// One fact that was looked up on the host, not taken from the model.
struct Check {
  std::string claim;
  bool holds = false;
};

void ShowWhatRan(const std::vector<Step>& steps, Terminal& terminal);
void ShowWhatWasRefused(const std::vector<Step>& steps, const std::vector<Attack>& attacks,
                        Terminal& terminal);
void ShowWhatWasEnforced(const CompileReport& report, Terminal& terminal);
// Returns whether all of them hold.
[[nodiscard]] bool ShowChecks(const std::vector<Check>& checks, Terminal& terminal);

// The step that ran `command`; null when none did.
[[nodiscard]] const Step* FindStep(const std::vector<Step>& steps, const std::string& command);

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_DEMO_REPORT_H_
