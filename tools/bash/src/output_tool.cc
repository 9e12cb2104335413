#include "output_tool.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "job_arguments.h"
#include "job_rendering.h"
#include "printable_text.h"

namespace cordon::internal {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kMaxWaitMs = 600'000;
constexpr std::uint64_t kDefaultOutputBytes = 16 * 1024;
constexpr std::uint64_t kLeastOutputBytes = 64;
constexpr std::uint64_t kMaxOutputBytes = 128 * 1024;

class OutputTool final : public Tool {
 public:
  explicit OutputTool(JobToolsOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "bash_output"; }
  std::string description() const override {
    return "Reads what a background job of the bash tool has written, both streams in order, from "
           "where the last call stopped or from \"cursor\" on. Without a handle it lists the jobs. "
           "With \"wait_ms\" it waits up to that long: for more output (\"wait_for\": \"output\"), "
           "or for the end of a job (\"any_end\", \"all_end\").";
  }
  std::string input_schema_json() const override {
    return absl::StrFormat(R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "handle": {"type": "string", "minLength": 1, "description": "which job; none: list them all"},
    "cursor": {"type": "integer", "minimum": 0, "description": "bytes from the beginning"},
    "max_bytes": {"type": "integer", "minimum": %d, "maximum": %d, "default": %d},
    "wait_ms": {"type": "integer", "minimum": 0, "maximum": %d, "default": 0},
    "wait_for": {"enum": ["output", "any_end", "all_end"]}
  },
  "additionalProperties": false
})json",
                           kLeastOutputBytes, kMaxOutputBytes, kDefaultOutputBytes, kMaxWaitMs);
  }

  absl::StatusOr<PreparedCall> Prepare(std::string_view arguments_json,
                                       const PrepareContext& context) override {
    static const MemberNameList known = {"handle", "cursor", "max_bytes", "wait_ms", "wait_for"};
    const absl::StatusOr<json> object = ParseJobArguments(arguments_json, known, false);
    if (!object.ok()) return object.status();
    absl::StatusOr<Reading> reading = ParseReading(*object);
    if (!reading.ok()) return reading.status();
    return PreparedCall(
        HarmlessRequest(name(), context, "only reads what a job of this session wrote"),
        SealedArtifact::Seal(*std::move(reading)));
  }

  absl::StatusOr<ToolResult> Run(const PreparedCall& call, std::vector<Grant> /*grants*/,
                                 std::stop_token stop) override {
    const auto* reading = call.artifact().Open<Reading>();
    if (reading == nullptr) return ForeignCall(name());
    if (absl::Status waited = Wait(*reading, stop); !waited.ok()) return waited;
    if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "bash_output: cancelled");
    absl::StatusOr<ToolResult> result = reading->handle.empty()
                                            ? RenderJobList(options_.jobs->List(options_.owner))
                                            : Read(*reading);
    if (result.ok()) AppendEndedJobs(*options_.jobs, options_.owner, *result);
    return result;
  }

 private:
  struct Reading {
    std::string handle;
    std::optional<std::uint64_t> cursor;
    std::size_t max_bytes = 0;
    milliseconds wait{0};
    WaitFor wait_for = WaitFor::kOutput;
  };

  static absl::StatusOr<WaitFor> ParseWaitFor(const json& object, bool has_handle) {
    static const MemberNameList known = {"output", "any_end", "all_end"};
    if (!object.contains("wait_for")) return has_handle ? WaitFor::kOutput : WaitFor::kAnyEnd;
    const absl::StatusOr<std::string> text = TextMember(object, "wait_for", "");
    if (!text.ok()) return text.status();
    if (*text == known[0]) return WaitFor::kOutput;
    if (*text == known[1]) return WaitFor::kAnyEnd;
    if (*text == known[2]) return WaitFor::kAllEnd;
    return Refuse("\"wait_for\" is \"%s\"; the nearest is \"%s\"", *text,
                  NearestName(*text, known));
  }

  static absl::StatusOr<Reading> ParseReading(const json& object) {
    Reading reading;
    reading.handle = HandleOf(object);
    const auto cursor = NumberMember(object, "cursor", 0, std::uint64_t{1} << 62);
    const auto bytes = NumberMember(object, "max_bytes", kDefaultOutputBytes, kMaxOutputBytes);
    const auto wait = NumberMember(object, "wait_ms", 0, kMaxWaitMs);
    const auto wait_for = ParseWaitFor(object, !reading.handle.empty());
    for (const absl::Status& status :
         {cursor.status(), bytes.status(), wait.status(), wait_for.status()}) {
      if (!status.ok()) return status;
    }
    if (*bytes < kLeastOutputBytes) {
      return Refuse("\"max_bytes\" must be at least %d", kLeastOutputBytes);
    }
    if (object.contains("cursor")) reading.cursor = *cursor;
    reading.max_bytes = *bytes;
    reading.wait = milliseconds(*wait);
    reading.wait_for = *wait_for;
    return reading;
  }

  absl::Status Wait(const Reading& reading, std::stop_token stop) {
    std::vector<std::string> handles;
    if (!reading.handle.empty()) {
      handles.push_back(reading.handle);
    } else {
      for (const JobInfo& job : options_.jobs->List(options_.owner)) {
        if (job.state == JobState::kRunning) handles.push_back(job.handle);
      }
    }
    // What is there already is not waited for.
    if (reading.wait_for == WaitFor::kOutput && !reading.handle.empty()) {
      const absl::StatusOr<JobInfo> job = options_.jobs->Find(options_.owner, reading.handle);
      if (!job.ok()) return job.status();
      if (job->output_bytes > CursorOf(reading)) return absl::OkStatus();
    }
    return options_.jobs
        ->Wait(options_.owner, handles, reading.wait_for, steady_clock::now() + reading.wait,
               std::move(stop))
        .status();
  }

  std::uint64_t CursorOf(const Reading& reading) {
    const std::lock_guard lock(mutex_);
    const auto kept = cursors_.find(reading.handle);
    return reading.cursor.value_or(kept == cursors_.end() ? 0 : kept->second);
  }

  absl::StatusOr<ToolResult> Read(const Reading& reading) {
    const std::uint64_t cursor = CursorOf(reading);
    absl::StatusOr<JobOutput> output =
        options_.jobs->Read(options_.owner, reading.handle, cursor, reading.max_bytes);
    const absl::StatusOr<JobInfo> job = options_.jobs->Find(options_.owner, reading.handle);
    if (!output.ok()) return output.status();
    if (!job.ok()) return job.status();
    if (!output->at_end) {
      // A character that is not whole yet is left for the next call.
      const std::size_t incomplete = IncompleteSuffix(output->bytes);
      output->bytes.resize(output->bytes.size() - incomplete);
      output->next_cursor -= incomplete;
    }
    KeepCursor(reading.handle, output->next_cursor);
    return RenderJobOutput(*job, *output, cursor, options_.executor->profile());
  }

  void KeepCursor(const std::string& handle, std::uint64_t cursor) {
    const std::lock_guard lock(mutex_);
    cursors_[handle] = cursor;
    if (cursors_.size() <= options_.jobs->List(options_.owner).size()) return;
    // Those of forgotten jobs.
    std::erase_if(cursors_, [this](const auto& entry) {
      return !options_.jobs->Find(options_.owner, entry.first).ok();
    });
  }

  const JobToolsOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> cursors_;
};

}  // namespace

std::unique_ptr<Tool> MakeOutputTool(JobToolsOptions options) {
  return std::make_unique<OutputTool>(std::move(options));
}

}  // namespace cordon::internal
