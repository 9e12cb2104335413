// The step of an agent's loop that turns a model's tool calls into results: prepare, admit, mint,
// run. Every failure becomes an outcome that can be shown to the model; nothing throws.

#ifndef CORDON_SDK_TOOL_CALL_H_
#define CORDON_SDK_TOOL_CALL_H_

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/tool.h"

namespace cordon {

// As the model sent it.
struct ToolCall {
  std::string id;
  std::string tool;
  std::string arguments_json;
};

struct ToolCallOutcome {
  std::string call_id;
  std::string execution_id;
  // OK when the tool ran. Else why it did not: the codes of `Tool::Prepare`, `Admission::Admit` and
  // `Tool::Run`, kInvalidArguments for an unknown tool, kToolFailed when a tool threw.
  absl::Status status;
  // What to show the model in either case; a refusal says what was refused, by what, and how it
  // could be allowed. Always valid UTF-8 without terminal control codes, whatever the tool
  // returned.
  ToolResult result;
};

struct ToolCallOptions {
  std::vector<Tool*> tools;        // Borrowed; names must differ.
  Admission* admission = nullptr;  // Borrowed; mandatory.
  // Borrowed; may be null. A call whose request or decision cannot be logged does not run
  // (kLogFailed); a "result" that cannot be logged takes nothing back.
  LogSink* log = nullptr;
  std::size_t max_parallel = 4;
  std::size_t max_result_bytes = 256 * 1024;  // Of `ToolResult::text`; head and tail are kept.
};

// Safe from any thread.
class ToolCallStep {
 public:
  // Returns kInvalidOption without an admission, for duplicate tool names or a zero limit.
  [[nodiscard]] static absl::StatusOr<ToolCallStep> Create(ToolCallOptions options);

  [[nodiscard]] ToolCallOutcome Run(const ToolCall& call, std::stop_token stop = {}) const;

  // One model step: every call is prepared first, then admitted in order (what is remembered for
  // one is seen by the next) or together where the admission does that, then run with bounded
  // parallelism, minting each at its own dispatch. One outcome per call in the order of the calls.
  // A refusal fails only its own call; after `stop` what has finished keeps its result and the rest
  // is kCancelled.
  [[nodiscard]] std::vector<ToolCallOutcome> RunBatch(absl::Span<const ToolCall> calls,
                                                      std::stop_token stop = {}) const;

 private:
  explicit ToolCallStep(ToolCallOptions options) : options_(std::move(options)) {}
  ToolCallOptions options_;
};

}  // namespace cordon

#endif  // CORDON_SDK_TOOL_CALL_H_
