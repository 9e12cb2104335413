#include "stop_tool.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job_arguments.h"
#include "job_rendering.h"

namespace cordon::internal {
namespace {

using nlohmann::json;

class StopTool final : public Tool {
 public:
  explicit StopTool(JobToolsOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "bash_stop"; }
  std::string description() const override {
    return "Ends a background job of the bash tool and everything it has started: asks it to end, "
           "and kills what is left after two seconds.";
  }
  std::string input_schema_json() const override {
    return R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {"handle": {"type": "string", "minLength": 1}},
  "required": ["handle"],
  "additionalProperties": false
})json";
  }

  absl::StatusOr<PreparedCall> Prepare(std::string_view arguments_json,
                                       const PrepareContext& context) override {
    static const MemberNameList known = {"handle"};
    const absl::StatusOr<json> object = ParseJobArguments(arguments_json, known, true);
    if (!object.ok()) return object.status();
    return PreparedCall(HarmlessRequest(name(), context, "only ends a job of this session"),
                        SealedArtifact::Seal(Stopping{HandleOf(*object)}));
  }

  absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant> /*grants*/,
                                 std::stop_token /*stop*/) override {
    const auto* stopping = call.artifact().Open<Stopping>();
    if (stopping == nullptr) return ForeignCall(name());
    const absl::StatusOr<JobInfo> before = options_.jobs->Find(options_.owner, stopping->handle);
    if (!before.ok()) return before.status();
    const absl::StatusOr<JobInfo> job = options_.jobs->Stop(options_.owner, stopping->handle);
    if (!job.ok()) return job.status();
    const bool was_over = before->state == JobState::kEnded || before->state == JobState::kLost;
    ToolResult result = RenderJob(*job, was_over ? "it had ended before" : "it was stopped",
                                  options_.executor->profile());
    AppendEndedJobs(*options_.jobs, options_.owner, result);
    return result;
  }

 private:
  struct Stopping {
    std::string handle;
  };

  const JobToolsOptions options_;
};

}  // namespace

std::unique_ptr<Tool> MakeStopTool(JobToolsOptions options) {
  return std::make_unique<StopTool>(std::move(options));
}

}  // namespace cordon::internal
