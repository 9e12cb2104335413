#include "input_tool.h"

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "arguments.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "input_command.h"
#include "job_arguments.h"
#include "job_rendering.h"
#include "rendering.h"

namespace cordon::internal {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// In a command's text, which is how it is shown and granted.
constexpr std::size_t kMaxInputBytes = 64 * 1024;
constexpr milliseconds kInputPatience = std::chrono::seconds(5);

class InputTool final : public Tool {
 public:
  explicit InputTool(JobToolsOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "bash_input"; }
  std::string description() const override {
    return "Writes to the standard input of a background job of the bash tool, exactly as given: "
           "end a line with \\n. \"eof\": true closes the input afterwards. A person may be asked "
           "for each input, as for a command.";
  }
  std::string input_schema_json() const override {
    return absl::StrFormat(R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "handle": {"type": "string", "minLength": 1},
    "input": {"type": "string", "minLength": 1, "maxLength": %d},
    "eof": {"type": "boolean", "default": false},
    "description": {
      "type": "string", "minLength": 1, "maxLength": %d,
      "description": "one sentence for the person who may be asked"
    }
  },
  "required": ["handle"],
  "additionalProperties": false
})json",
                           kMaxInputBytes, kMaxDescriptionBytes);
  }

  absl::StatusOr<PreparedCall> Prepare(std::string_view arguments_json,
                                       const PrepareContext& context) override {
    static const MemberNameList known = {"handle", "input", "eof", "description"};
    const absl::StatusOr<json> object = ParseJobArguments(arguments_json, known, true);
    if (!object.ok()) return object.status();
    absl::StatusOr<Writing> writing = ParseWriting(*object);
    if (!writing.ok()) return writing.status();
    const absl::StatusOr<JobInfo> job = options_.jobs->Find(options_.owner, writing->handle);
    if (!job.ok()) return job.status();
    writing->execution_id = context.execution_id;
    if (writing->text.empty()) {
      return PreparedCall(HarmlessRequest(name(), context, "only ends the input of a job"),
                          SealedArtifact::Seal(*std::move(writing)));
    }
    writing->command = InputCommand(*job, writing->text, writing->eof);
    Request request;
    request.tool = std::string(name());
    request.call_id = context.call_id;
    request.execution_id = context.execution_id;
    request.command = writing->command;
    if (object->contains("description")) {
      absl::StatusOr<std::string> description = TextMember(*object, "description", "");
      if (!description.ok()) return description.status();
      if (description->size() > kMaxDescriptionBytes) {
        return Refuse("\"description\" has more than %d bytes", kMaxDescriptionBytes);
      }
      request.model_description = *std::move(description);
    }
    request.details = {{"input for", job->handle}, {"which runs", job->command}};
    request.binding = options_.executor->BindingFor(*request.command, context.execution_id);
    request.authority = std::vector<Requirement>{RequireCommand(*request.command)};
    return PreparedCall(std::move(request), SealedArtifact::Seal(*std::move(writing)));
  }

  absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant> grants,
                                 std::stop_token /*stop*/) override {
    const auto* writing = call.artifact().Open<Writing>();
    if (writing == nullptr || writing->ran->exchange(true)) return ForeignCall(name());
    std::string said = "its input has ended";
    if (!writing->text.empty()) {
      absl::Status spent =
          SpendInputGrants(*options_.executor, writing->command, writing->execution_id, grants);
      if (!spent.ok()) return spent;
      const absl::StatusOr<std::size_t> taken = options_.jobs->WriteInput(
          options_.owner, writing->handle, writing->text, steady_clock::now() + kInputPatience);
      if (!taken.ok()) return taken.status();
      said = absl::StrFormat("%s bytes were written", WithThousands(*taken));
      if (*taken < writing->text.size()) {
        said += absl::StrFormat(" of %s: the program does not read its input",
                                WithThousands(writing->text.size()));
      }
    }
    if (writing->eof) {
      absl::Status closed = options_.jobs->CloseInput(options_.owner, writing->handle);
      if (!closed.ok()) return closed;
    }
    const absl::StatusOr<JobInfo> job = options_.jobs->Find(options_.owner, writing->handle);
    if (!job.ok()) return job.status();
    ToolResult result = RenderJob(*job, said, options_.executor->profile());
    AppendEndedJobs(*options_.jobs, options_.owner, result);
    return result;
  }

 private:
  struct Writing {
    std::string handle;
    std::string text;
    bool eof = false;
    Command command;
    std::string execution_id;
    std::shared_ptr<std::atomic<bool>> ran = std::make_shared<std::atomic<bool>>(false);
  };

  static absl::StatusOr<Writing> ParseWriting(const json& object) {
    Writing writing;
    writing.handle = HandleOf(object);
    const absl::StatusOr<bool> eof = FlagMember(object, "eof", false);
    if (!eof.ok()) return eof.status();
    writing.eof = *eof;
    if (object.contains("input")) {
      absl::StatusOr<std::string> text = TextMember(object, "input", "");
      if (!text.ok()) return text.status();
      writing.text = *std::move(text);
    }
    if (writing.text.size() > kMaxInputBytes) {
      return Refuse("\"input\" has %d bytes, at most %d are possible: send it in parts",
                    writing.text.size(), kMaxInputBytes);
    }
    if (writing.text.empty() && !writing.eof) return Refuse("give \"input\", or \"eof\": true");
    return writing;
  }

  const JobToolsOptions options_;
};

}  // namespace

std::unique_ptr<Tool> MakeInputTool(JobToolsOptions options) {
  return std::make_unique<InputTool>(std::move(options));
}

}  // namespace cordon::internal
