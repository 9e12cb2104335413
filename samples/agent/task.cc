#include "task.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "agent.h"
#include "cordon/bash/bash_tool.h"
#include "cordon/bash/job_tools.h"
#include "cordon/bash/process_registry.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/grants.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/tool_call.h"
#include "transcript.h"

namespace cordon::agent {
namespace {

namespace fs = std::filesystem;

// Asks at the terminal, with nothing else written meanwhile.
class QuietApprover final : public Approver {
 public:
  explicit QuietApprover(Terminal& terminal) : terminal_(terminal) {}
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override {
    const auto hold = terminal_.HoldProgress();
    return asker_.Ask(card, std::move(stop));
  }
  bool CanAskTogether() const override { return asker_.CanAskTogether(); }
  absl::StatusOr<std::vector<ApprovalAnswer>> AskTogether(absl::Span<const ApprovalCard> cards,
                                                          std::stop_token stop) override {
    const auto hold = terminal_.HoldProgress();
    return asker_.AskTogether(cards, std::move(stop));
  }

 private:
  Terminal& terminal_;
  TerminalApprover asker_;
};

std::string HomeFolder() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

std::string TranscriptPath(const TaskOptions& options) {
  if (!options.transcript.empty()) return options.transcript;
  const char* state = std::getenv("XDG_STATE_HOME");
  const fs::path base =
      state != nullptr && *state == '/' ? fs::path(state) : fs::path(HomeFolder()) / ".local/state";
  return base / "cordon-agent" / (RandomId().substr(0, 16) + ".jsonl");
}

// Everything that one task needs, in the order of its making; it goes in the other.
struct Workshop {
  Profile profile;
  std::unique_ptr<ExecutorSet> set;
  std::shared_ptr<Executor> executor;
  std::unique_ptr<Gate> gate;
  std::shared_ptr<ProcessRegistry> jobs;
  std::unique_ptr<BashTool> bash;
  JobTools more;

  [[nodiscard]] std::vector<Tool*> Tools() const {
    return {bash.get(), more.output.get(), more.input.get(), more.stop.get()};
  }
};

absl::Status MakeSandbox(const TaskOptions& options, Workshop& shop) {
  absl::StatusOr<ProfileConfig> config = PresetConfig("workspace", options.workspace);
  if (!config.ok()) return config.status();
  config->command = Access::kGated;
  config->home_root = HomeFolder();
  absl::StatusOr<Profile> profile = Profile::Create(*config);
  if (!profile.ok()) return profile.status();
  shop.profile = *std::move(profile);
  ExecutorSetOptions set_options;
  set_options.scratch_root = fs::temp_directory_path();
  set_options.max_executors = 1;
  set_options.backend = options.backend;
  set_options.make_authority = HmacGrantAuthorityFactory();
  absl::StatusOr<std::unique_ptr<ExecutorSet>> set =
      ExecutorSet::Create(shop.profile, std::move(set_options));
  if (!set.ok()) return set.status();
  shop.set = *std::move(set);
  absl::StatusOr<std::shared_ptr<Executor>> executor = shop.set->For("agent");
  if (!executor.ok()) return executor.status();
  shop.executor = *std::move(executor);
  return absl::OkStatus();
}

absl::Status MakeGate(const TaskOptions& options, Terminal& terminal, Workshop& shop) {
  GateOptions gate_options;
  gate_options.profile = shop.profile;
  gate_options.rules = RuleSet::InMemory();
  if (options.approve_all) {
    gate_options.approver = std::make_shared<ApproveEverything>();
  } else if (options.ask_a_person) {
    gate_options.approver = std::make_shared<QuietApprover>(terminal);
  } else {
    gate_options.approver = std::make_shared<NoApprover>();
  }
  gate_options.authorities = {shop.executor->grant_authority()};
  absl::StatusOr<std::unique_ptr<Gate>> gate = Gate::Create(std::move(gate_options));
  if (!gate.ok()) return gate.status();
  shop.gate = *std::move(gate);
  return absl::OkStatus();
}

absl::Status MakeTools(Workshop& shop) {
  absl::StatusOr<std::unique_ptr<ProcessRegistry>> jobs =
      ProcessRegistry::OpenTemporary(fs::temp_directory_path());
  if (!jobs.ok()) return jobs.status();
  shop.jobs = *std::move(jobs);
  BashToolOptions bash_options;
  bash_options.jobs = shop.jobs;
  absl::StatusOr<std::unique_ptr<BashTool>> bash =
      BashTool::Create(shop.executor, std::move(bash_options));
  if (!bash.ok()) return bash.status();
  shop.bash = *std::move(bash);
  absl::StatusOr<JobTools> more = MakeJobTools({shop.jobs, "session", shop.executor});
  if (!more.ok()) return more.status();
  shop.more = *std::move(more);
  return absl::OkStatus();
}

absl::Status RunIn(Workshop& shop, const TaskOptions& options, Terminal& terminal,
                   TranscriptFile& transcript, std::stop_token stop) {
  ToolCallOptions step_options;
  step_options.tools = shop.Tools();
  step_options.admission = shop.gate.get();
  const absl::StatusOr<ToolCallStep> step = ToolCallStep::Create(std::move(step_options));
  if (!step.ok()) return step.status();
  AgentOptions agent;
  agent.model = options.model;
  agent.step = &*step;
  agent.tools = shop.Tools();
  agent.observer = &terminal;
  agent.keep = [&transcript](const Message& message) { return transcript.Append(message); };
  const absl::StatusOr<AgentResult> result = RunAgent(agent, options.task, std::move(stop));
  if (!result.ok()) return result.status();
  if (!result->finished) terminal.Line("stopped: the model took too many turns", Tone::kBad);
  return absl::OkStatus();
}

}  // namespace

absl::Status WorkOnTask(Terminal& terminal, const TaskOptions& options, std::stop_token stop) {
  absl::StatusOr<TranscriptFile> transcript = TranscriptFile::Open(TranscriptPath(options));
  if (!transcript.ok()) return transcript.status();
  Workshop shop;
  absl::Status status = MakeSandbox(options, shop);
  if (status.ok()) status = MakeGate(options, terminal, shop);
  if (status.ok()) status = MakeTools(shop);
  if (!status.ok()) return status;
  if (options.approve_all) terminal.Line("--yes: everything is approved, by nobody", Tone::kAsk);
  terminal.Line("workspace: " + options.workspace, Tone::kDim);
  terminal.Line("transcript: " + transcript->path(), Tone::kDim);
  status = RunIn(shop, options, terminal, *transcript, std::move(stop));
  status.Update(shop.jobs->Close());
  status.Update(shop.set->Close());
  return status;
}

}  // namespace cordon::agent
