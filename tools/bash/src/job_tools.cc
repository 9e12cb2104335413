#include "cordon/bash/job_tools.h"

#include <utility>

#include "cordon/sdk/status.h"
#include "input_tool.h"
#include "output_tool.h"
#include "stop_tool.h"

namespace cordon {
namespace internal {
namespace {

constexpr char kBashResultSchema[] = R"json({
  "type": "object",
  "properties": {
    "exit_code": {"type": ["integer", "null"]},
    "signal": {"type": ["integer", "null"]},
    "outcome": {"type": "string"},
    "stdout": {"type": "string"},
    "stderr": {"type": "string"},
    "truncated": {"type": "boolean"},
    "denials": {"type": "array", "items": {"type": "object"}},
    "changed_protected": {"type": "array", "items": {"type": "string"}},
    "invalid_utf8": {"type": "boolean"},
    "left_running": {"type": "boolean"},
    "notes": {"type": "array", "items": {"type": "string"}},
    "workdir": {"type": "string"},
    "handle": {"type": "string"},
    "ended_jobs": {"type": "array", "items": {"type": "object"}},
    "error": {"type": "object"}
  },
  "anyOf": [
    {"required": ["exit_code", "signal", "outcome", "stdout", "stderr", "truncated", "denials"]},
    {"required": ["error"]}
  ]
})json";

constexpr char kJobResultSchema[] = R"json({
  "type": "object",
  "properties": {
    "job": {"type": "object"},
    "jobs": {"type": "array", "items": {"type": "object"}},
    "output": {"type": "string"},
    "cursor": {"type": "integer"},
    "next_cursor": {"type": "integer"},
    "skipped_bytes": {"type": "integer"},
    "at_end": {"type": "boolean"},
    "invalid_utf8": {"type": "boolean"},
    "ended_jobs": {"type": "array", "items": {"type": "object"}},
    "error": {"type": "object"}
  },
  "anyOf": [{"required": ["job"]}, {"required": ["jobs"]}, {"required": ["error"]}]
})json";

}  // namespace
}  // namespace internal

absl::StatusOr<JobTools> MakeJobTools(JobToolsOptions options) {
  if (options.jobs == nullptr || options.executor == nullptr || options.owner.empty()) {
    return MakeError(ErrorCode::kInvalidOption,
                     "the tools for background jobs need a registry, an executor and an owner");
  }
  JobTools tools;
  tools.output = internal::MakeOutputTool(options);
  tools.input = internal::MakeInputTool(options);
  tools.stop = internal::MakeStopTool(std::move(options));
  return tools;
}

std::string ResultSchemaJson(std::string_view tool_name) {
  if (tool_name == "bash") return internal::kBashResultSchema;
  if (tool_name == "bash_output" || tool_name == "bash_input" || tool_name == "bash_stop") {
    return internal::kJobResultSchema;
  }
  return "";
}

}  // namespace cordon
