// Background jobs as the text that a model reads and as JSON objects. Pure, but for
// `AppendEndedJobs`.

#ifndef CORDON_TOOLS_BASH_JOB_RENDERING_H_
#define CORDON_TOOLS_BASH_JOB_RENDERING_H_

#include <string>
#include <vector>

#include "cordon/bash/process_registry.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/tool.h"

namespace cordon::internal {

// The answer to `background`: the result of a run that has not ended, with its handle.
[[nodiscard]] ToolResult RenderStartedJob(const JobInfo& job,
                                          const std::vector<std::string>& notes);

[[nodiscard]] ToolResult RenderJobList(const std::vector<JobInfo>& jobs);

// A part of a job's output that began at `cursor`, and how the job is.
[[nodiscard]] ToolResult RenderJobOutput(const JobInfo& job, const JobOutput& output,
                                         std::uint64_t cursor, const Profile& profile);

// How a job is, after something was done to it, which `said` tells.
[[nodiscard]] ToolResult RenderJob(const JobInfo& job, const std::string& said,
                                   const Profile& profile);

// Tells of the jobs of `owner` that have ended since they were last told of.
void AppendEndedJobs(ProcessRegistry& jobs, const std::string& owner, ToolResult& result);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_JOB_RENDERING_H_
