#include "job_rendering.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "nlohmann/json.hpp"
#include "printable_text.h"
#include "rendering.h"

namespace cordon::internal {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kShownCommandBytes = 200;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value.has_value() ? json(*value) : json(nullptr);
}

// "running", "exited", "timed_out", "lost", ...
std::string OutcomeName(const JobInfo& job) {
  return std::string(job.outcome.has_value() ? OutcomeKindName(job.outcome->kind)
                                             : JobStateName(job.state));
}

std::string StateText(const JobInfo& job) {
  switch (job.state) {
    case JobState::kStarting:
    case JobState::kRunning: {
      const auto age = std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::system_clock::now() - job.started);
      return "running for " + DurationText(std::max(age, std::chrono::seconds(0)));
    }
    case JobState::kEnded: {
      const Outcome outcome = job.outcome.value_or(Outcome{});
      return absl::StrFormat("%s, after %s", OutcomeText(outcome, {outcome.wall, 0}),
                             DurationText(outcome.wall));
    }
    case JobState::kLost:
      return "lost: the session that ran it ended, and the job with it";
  }
  return "unknown";
}

// The command is escaped already; the cut may leave half an escape, which harms nobody.
std::string ShownCommand(const JobInfo& job) {
  if (job.command.size() <= kShownCommandBytes) return job.command;
  const std::string head = job.command.substr(0, kShownCommandBytes);
  return head.substr(0, head.size() - IncompleteSuffix(head)) + "...";
}

std::string JobLine(const JobInfo& job) {
  return absl::StrFormat("%s %s; %s bytes of output: %s", job.handle, StateText(job),
                         WithThousands(job.output_bytes), ShownCommand(job));
}

json JobJson(const JobInfo& job) {
  json object = {{"handle", job.handle},
                 {"state", std::string(JobStateName(job.state))},
                 {"outcome", OutcomeName(job)},
                 {"exit_code", nullptr},
                 {"signal", nullptr},
                 {"command", job.command},
                 {"workdir", job.working_directory},
                 {"output_bytes", job.output_bytes}};
  if (!job.outcome.has_value()) return object;
  object["exit_code"] = OrNull(job.outcome->code);
  object["signal"] = OrNull(job.outcome->signal);
  json denials = json::array();
  for (const Denial& denial : job.denials) {
    denials.push_back({{"kind", denial.kind},
                       {"target", denial.target},
                       {"count", denial.count},
                       {"reason", denial.reason},
                       {"allow_with", denial.allow_with}});
  }
  object["denials"] = std::move(denials);
  object["changed_protected"] = job.changed_protected;
  return object;
}

void AppendRefusals(const JobInfo& job, const Profile& profile, std::string& text) {
  AppendList("refused while it ran", DenialLines(job.denials, profile), text);
  AppendList("protected paths that it changed, undone where possible",
             EscapedLines(job.changed_protected), text);
}

}  // namespace

ToolResult RenderStartedJob(const JobInfo& job, const std::vector<std::string>& notes) {
  ToolResult result;
  result.text = absl::StrFormat(
      "started in the background: %s\nIt runs until it ends, bash_stop ends it, or the session "
      "ends. bash_output reads what it writes; its end is told with a later result.\n",
      job.handle);
  AppendList("notes", notes, result.text);
  const json object = {{"exit_code", nullptr},
                       {"signal", nullptr},
                       {"outcome", "running"},
                       {"stdout", ""},
                       {"stderr", ""},
                       {"truncated", false},
                       {"denials", json::array()},
                       {"notes", notes},
                       {"workdir", job.working_directory},
                       {"handle", job.handle}};
  result.structured_json = Dump(object);
  return result;
}

ToolResult RenderJobList(const std::vector<JobInfo>& jobs) {
  ToolResult result;
  json list = json::array();
  for (const JobInfo& job : jobs) {
    result.text += JobLine(job) + "\n";
    list.push_back(JobJson(job));
  }
  if (jobs.empty()) result.text = "there are no background jobs\n";
  result.structured_json = Dump({{"jobs", std::move(list)}});
  return result;
}

ToolResult RenderJobOutput(const JobInfo& job, const JobOutput& output, std::uint64_t cursor,
                           const Profile& profile) {
  const ValidText valid = ReplaceInvalidUtf8(output.bytes);
  const PrintableText printable = RemoveTerminalControls(valid.text);
  ToolResult result;
  result.text = absl::StrFormat("%s: %s\n", job.handle, StateText(job));
  if (output.skipped_bytes > 0) {
    result.text += absl::StrFormat("[%s bytes from %s on are not kept any more]\n",
                                   WithThousands(output.skipped_bytes), WithThousands(cursor));
  }
  result.text += printable.text;
  if (!printable.text.empty() && !printable.text.ends_with('\n')) result.text += '\n';
  if (printable.text.empty()) {
    result.text += output.at_end ? "(no more output)\n" : "(nothing new)\n";
  }
  const std::uint64_t left =
      job.output_bytes > output.next_cursor ? job.output_bytes - output.next_cursor : 0;
  if (left > 0) {
    result.text += absl::StrFormat("[%s bytes more: call again; cursor %d]\n", WithThousands(left),
                                   output.next_cursor);
  }
  if (valid.replaced > 0) {
    result.text += absl::StrFormat("[no valid UTF-8: %s faulty sequences replaced by U+FFFD]\n",
                                   WithThousands(valid.replaced));
  }
  if (output.at_end) AppendRefusals(job, profile, result.text);
  const json object = {{"job", JobJson(job)},
                       {"output", valid.text},
                       {"cursor", cursor},
                       {"next_cursor", output.next_cursor},
                       {"skipped_bytes", output.skipped_bytes},
                       {"at_end", output.at_end},
                       {"invalid_utf8", valid.replaced > 0}};
  result.structured_json = Dump(object);
  return result;
}

ToolResult RenderJob(const JobInfo& job, const std::string& said, const Profile& profile) {
  ToolResult result;
  result.text = said + "\n" + JobLine(job) + "\n";
  AppendRefusals(job, profile, result.text);
  result.structured_json = Dump({{"job", JobJson(job)}});
  return result;
}

void AppendEndedJobs(ProcessRegistry& jobs, const std::string& owner, ToolResult& result) {
  const std::vector<JobInfo> ended = jobs.TakeEnded(owner);
  if (ended.empty()) return;
  std::vector<std::string> lines;
  json list = json::array();
  for (const JobInfo& job : ended) {
    lines.push_back(JobLine(job));
    list.push_back(JobJson(job));
  }
  if (!result.text.empty() && !result.text.ends_with('\n')) result.text += '\n';
  AppendList("background jobs that have ended since", lines, result.text);
  json object = json::parse(result.structured_json, nullptr, false);
  if (!object.is_object()) return;
  object["ended_jobs"] = std::move(list);
  result.structured_json = Dump(object);
}

}  // namespace cordon::internal
