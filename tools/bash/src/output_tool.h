// The tool `bash_output`; its contract is in cordon/bash/job_tools.h.

#ifndef CORDON_TOOLS_BASH_OUTPUT_TOOL_H_
#define CORDON_TOOLS_BASH_OUTPUT_TOOL_H_

#include <memory>

#include "cordon/bash/job_tools.h"
#include "cordon/sdk/tool.h"

namespace cordon::internal {

// `options` are complete.
[[nodiscard]] std::unique_ptr<Tool> MakeOutputTool(JobToolsOptions options);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_OUTPUT_TOOL_H_
