// The loop of a coding assistant: ask the model, run the tools it calls, show it what happened,
// until it has nothing left to call.

#ifndef CORDON_SAMPLES_AGENT_AGENT_H_
#define CORDON_SAMPLES_AGENT_AGENT_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/tool.h"
#include "cordon/sdk/tool_call.h"
#include "model.h"

namespace cordon::agent {

// Sees what happens while it happens. Called from the thread that runs the agent, but for
// `OnWaiting`.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnText(std::string_view text) = 0;
  virtual void OnCalls(const std::vector<ToolCall>& calls) = 0;
  virtual void OnOutcome(const ToolCall& call, const ToolCallOutcome& outcome) = 0;
  // About once a second while calls run, from another thread; never at the same time as the others.
  virtual void OnWaiting(std::chrono::seconds /*since_start*/) {}
};

struct AgentOptions {
  Model* model = nullptr;              // Borrowed.
  const ToolCallStep* step = nullptr;  // Borrowed; holds the tools and the admission.
  std::vector<Tool*> tools;            // Borrowed; the same as those of `step`.
  Observer* observer = nullptr;        // Borrowed; may be null.
  // Gets each entry of the transcript as it is made; an error ends the agent. May be null.
  std::function<absl::Status(const Message&)> keep;
  std::size_t max_turns = 40;
};

// One tool call and what came of it.
struct Step {
  ToolCall call;
  ToolCallOutcome outcome;
};

struct AgentResult {
  std::vector<Message> transcript;
  std::vector<Step> steps;
  bool finished = false;  // The model came to its end; false when `max_turns` did.
};

// Returns the model's error, that of `keep`, or kCancelled.
[[nodiscard]] absl::StatusOr<AgentResult> RunAgent(const AgentOptions& options, std::string task,
                                                   std::stop_token stop = {});

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_AGENT_H_
