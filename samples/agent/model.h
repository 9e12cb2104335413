// What the agent needs of a language model: a conversation in, the next turn out.

#ifndef CORDON_SAMPLES_AGENT_MODEL_H_
#define CORDON_SAMPLES_AGENT_MODEL_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/tool_call.h"

namespace cordon::agent {

enum class Role : std::uint8_t { kUser, kAssistant, kTool };

// One entry of the transcript.
struct Message {
  Role role = Role::kUser;
  std::string text;
  std::vector<ToolCall> calls;  // kAssistant: what it wants to run, all at once.
  std::string call_id;          // kTool: which of them this answers.
  bool is_error = false;        // kTool.
};

// What a model is told about one tool.
struct ToolSpec {
  std::string name;
  std::string description;
  std::string input_schema_json;
};

// The model's next turn. Without calls it is the last one.
struct Turn {
  std::string text;
  std::vector<ToolCall> calls;
  bool shown = false;  // The text was handed out as it came.
};

class Model {
 public:
  virtual ~Model() = default;
  // `transcript` is everything so far, oldest first, and ends with the user's task or with the
  // results of the last turn's calls, in their order.
  [[nodiscard]] virtual absl::StatusOr<Turn> Next(absl::Span<const Message> transcript,
                                                  absl::Span<const ToolSpec> tools,
                                                  std::stop_token stop) = 0;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_MODEL_H_
