// The tools beside `bash` that a model needs for background jobs: read them, write to them, stop
// them. And what the structured results of all four look like.

#ifndef CORDON_BASH_JOB_TOOLS_H_
#define CORDON_BASH_JOB_TOOLS_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/tool.h"

namespace cordon {

struct JobToolsOptions {
  std::shared_ptr<ProcessRegistry> jobs;
  // Whose jobs; the same as `BashToolOptions::owner`.
  std::string owner = "session";
  // The one that runs the jobs: its authority redeems the grants for input.
  std::shared_ptr<Executor> executor;
};

// Each takes one JSON object and refuses unknown members, as `BashTool` does. Safe from any thread.
struct JobTools {
  // bash_output {"handle"?, "cursor"?, "max_bytes"?, "wait_ms"?, "wait_for"?}: what a job wrote
  // since the last call or from `cursor` on; without a handle, the jobs. `wait_ms` waits for
  // `wait_for`: "output" (the default with a handle), "any_end" (without one) or "all_end". Needs
  // no authority.
  std::unique_ptr<Tool> output;
  // bash_input {"handle", "input"?, "eof"?, "description"?}: a new operation each time, since to an
  // interpreter a line is a command: it requires command.execute for this exact text to this job.
  // Its command is shell text that no rule for other commands covers.
  std::unique_ptr<Tool> input;
  // bash_stop {"handle"}: ends the job's whole tree. Needs no authority.
  std::unique_ptr<Tool> stop;
};

// Returns kInvalidOption without jobs, owner or executor.
[[nodiscard]] absl::StatusOr<JobTools> MakeJobTools(JobToolsOptions options);

// The JSON Schema of `ToolResult::structured_json` of `bash`, `bash_output`, `bash_input` and
// `bash_stop`, that of a refused call included; empty for another name.
[[nodiscard]] std::string ResultSchemaJson(std::string_view tool_name);

}  // namespace cordon

#endif  // CORDON_BASH_JOB_TOOLS_H_
