#include "agent.h"

#include <condition_variable>
#include <mutex>
#include <thread>
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

// Tells the observer once a second that calls are still running, for as long as it lives.
class Waiting {
 public:
  explicit Waiting(Observer* observer) {
    if (observer == nullptr) return;
    thread_ = std::jthread([observer](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any never;
      for (std::chrono::seconds since(1);; ++since) {
        never.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
        if (stop.stop_requested()) return;
        observer->OnWaiting(since);
      }
    });
  }

 private:
  std::jthread thread_;
};

class Run {
 public:
  Run(const AgentOptions& options, std::stop_token stop)
      : options_(options), stop_(std::move(stop)), specs_(Describe(options.tools)) {}

  absl::StatusOr<AgentResult> Do(std::string task) {
    absl::Status status = Keep({Role::kUser, std::move(task), {}, "", false});
    for (std::size_t turns = 0; status.ok() && turns < options_.max_turns; ++turns) {
      if (stop_.stop_requested()) return MakeError(ErrorCode::kCancelled, "the agent was stopped");
      absl::StatusOr<Turn> turn = options_.model->Next(result_.transcript, specs_, stop_);
      if (!turn.ok()) return turn.status();
      status = Take(*std::move(turn));
      if (result_.finished) break;
    }
    if (!status.ok()) return status;
    return std::move(result_);
  }

 private:
  absl::Status Keep(Message message) {
    const absl::Status status = options_.keep ? options_.keep(message) : absl::OkStatus();
    result_.transcript.push_back(std::move(message));
    return status;
  }

  absl::Status Take(Turn turn) {
    if (options_.observer != nullptr && !turn.text.empty() && !turn.shown) {
      options_.observer->OnText(turn.text);
    }
    absl::Status status = Keep({Role::kAssistant, turn.text, turn.calls, "", false});
    result_.finished = turn.calls.empty();
    return status.ok() && !turn.calls.empty() ? RunCalls(turn.calls) : status;
  }

  // One batch: every call of a turn is answered, also those that were refused.
  absl::Status RunCalls(const std::vector<ToolCall>& calls) {
    if (options_.observer != nullptr) options_.observer->OnCalls(calls);
    std::vector<ToolCallOutcome> outcomes;
    {
      const Waiting waiting(options_.observer);
      outcomes = options_.step->RunBatch(calls, stop_);
    }
    absl::Status status;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (options_.observer != nullptr) options_.observer->OnOutcome(calls[i], outcomes[i]);
      const ToolResult& result = outcomes[i].result;
      status.Update(Keep({Role::kTool, result.text, {}, outcomes[i].call_id, result.is_error}));
      result_.steps.push_back({calls[i], std::move(outcomes[i])});
    }
    return status;
  }

  const AgentOptions& options_;
  const std::stop_token stop_;
  const std::vector<ToolSpec> specs_;
  AgentResult result_;
};

}  // namespace

absl::StatusOr<AgentResult> RunAgent(const AgentOptions& options, std::string task,
                                     std::stop_token stop) {
  return Run(options, std::move(stop)).Do(std::move(task));
}

}  // namespace cordon::agent
