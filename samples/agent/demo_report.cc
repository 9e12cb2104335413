#include "demo_report.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "nlohmann/json.hpp"

namespace cordon::agent {
namespace {

constexpr std::size_t kCommandWidth = 56;

// The sandbox's reason: what the tool noted about the failure, else what the command complained of.
std::string ReasonOf(const ToolCallOutcome& outcome) {
  if (!outcome.status.ok()) return std::string(outcome.status.message());
  const auto result = nlohmann::json::parse(outcome.result.structured_json, nullptr, false);
  if (result.is_object() && result.contains("notes") && !result["notes"].empty()) {
    return result["notes"].back().get<std::string>();
  }
  if (result.is_object() && result.contains("stderr")) {
    return Shorten(EscapeForDisplay(result["stderr"].get<std::string>()), 100);
  }
  return EndOf(outcome);
}

bool WasRefused(const Step& step, const std::vector<Attack>& attacks) {
  if (!step.outcome.status.ok()) return true;
  return std::any_of(attacks.begin(), attacks.end(), [&step](const Attack& attack) {
    return FindStep({step}, attack.command) != nullptr;
  });
}

std::string NameOf(const Step& step, const std::vector<Attack>& attacks) {
  for (const Attack& attack : attacks) {
    if (FindStep({step}, attack.command) != nullptr) return attack.what;
  }
  return Shorten(CommandOf(step.call), kCommandWidth);
}

}  // namespace

const Step* FindStep(const std::vector<Step>& steps, const std::string& command) {
  const auto step = std::find_if(steps.begin(), steps.end(), [&command](const Step& candidate) {
    return CommandOf(candidate.call) == EscapeForDisplay(command, true);
  });
  return step == steps.end() ? nullptr : &*step;
}

void ShowWhatRan(const std::vector<Step>& steps, Terminal& terminal) {
  terminal.Heading("What ran");
  std::vector<std::vector<std::string>> rows;
  for (const Step& step : steps) {
    rows.push_back({Shorten(CommandOf(step.call), kCommandWidth), EndOf(step.outcome)});
  }
  terminal.Table(rows);
}

void ShowWhatWasRefused(const std::vector<Step>& steps, const std::vector<Attack>& attacks,
                        Terminal& terminal) {
  terminal.Heading("What was refused, and why");
  for (const Step& step : steps) {
    if (!WasRefused(step, attacks)) continue;
    terminal.Line(absl::StrFormat("%s: %s", NameOf(step, attacks), EndOf(step.outcome)),
                  Tone::kBad);
    terminal.Line("  " + ReasonOf(step.outcome), Tone::kDim);
  }
}

void ShowWhatWasEnforced(const CompileReport& report, Terminal& terminal) {
  terminal.Heading("What was enforced");
  terminal.Line(absl::StrFormat("level %s, by the %s backend; process trees: %s",
                                LevelName(report.level), report.backend,
                                LifetimeContainmentName(report.lifetime)));
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view name : AllGuaranteeNames()) {
    const std::vector<std::string_view> held = GuaranteeNames(report.guarantees);
    const bool holds = std::find(held.begin(), held.end(), name) != held.end();
    rows.push_back({std::string(name), holds ? "holds" : "not claimed"});
  }
  for (const ReportEntry& entry : report.entries) {
    rows.push_back({entry.feature, std::string(FeatureStatusName(entry.status)) + ": " +
                                       EscapeForDisplay(entry.detail)});
  }
  terminal.Table(rows);
}

bool ShowChecks(const std::vector<Check>& checks, Terminal& terminal) {
  terminal.Heading("Checked from outside");
  for (const Check& check : checks) {
    terminal.Line((check.holds ? "yes  " : "NO   ") + check.claim,
                  check.holds ? Tone::kGood : Tone::kBad);
  }
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.holds; });
}

}  // namespace cordon::agent
