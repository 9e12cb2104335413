#include "execution_result.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "plan.h"
#include "resource_limits.h"

namespace cordon::internal {
namespace {

std::string DetailOf(const SpawnEvent& event) {
  const auto* end = std::find(std::begin(event.detail), std::end(event.detail), '\0');
  return std::string(std::begin(event.detail), end);
}

std::chrono::milliseconds InMilliseconds(std::uint64_t microseconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::microseconds(microseconds));
}

}  // namespace

absl::Status SetupFailure(const TreeHistory& history, const TreeCount& count) {
  if (count.out_of_memory) {
    return MakeSetupFailure(StepName(Step::kLimits), ENOMEM,
                            "cannot start the command within its memory limit");
  }
  if (history.failed.has_value()) {
    const std::string detail = DetailOf(*history.failed);
    return MakeSetupFailure(StepName(history.failed->step), history.failed->error_number,
                            detail.empty()
                                ? "cannot start the command"
                                : absl::StrFormat("cannot start the command (%s)", detail));
  }
  if (history.destroyed) return MakeError(ErrorCode::kClosed, "closed before the command started");
  return MakeSetupFailure("launcher", EPIPE, "the launcher ended before the command started");
}

Outcome OutcomeOf(const TreeHistory& history, const TreeCount& count) {
  Outcome outcome;
  outcome.wall = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - history.started.value_or(history.handed_over));
  const std::optional<SpawnEvent>& ended = history.ended;
  // Without a last word of pid 1 the tree was killed from outside, or will be.
  const int status = ended.has_value() ? ended->wait_status : SIGKILL;
  if (WIFEXITED(status)) {
    outcome.code = WEXITSTATUS(status);
  } else {
    outcome.kind = Outcome::Kind::kSignaled;
    outcome.signal = WTERMSIG(status);
  }
  if (history.ending_as.has_value()) outcome.kind = *history.ending_as;
  if (!ended.has_value()) {
    outcome.cpu = InMilliseconds(count.cpu_microseconds.value_or(0));
    outcome.max_rss_bytes = count.most_memory_bytes.value_or(0);
    return outcome;
  }
  if (ended->wall_microseconds > 0) outcome.wall = InMilliseconds(ended->wall_microseconds);
  outcome.cpu = InMilliseconds(ended->cpu_microseconds);
  outcome.max_rss_bytes = ended->max_rss_bytes;
  return outcome;
}

std::optional<ReportEntry> LimitEntry(const TreeHistory& history, const TreeCount& count) {
  if (history.ended.has_value() && history.ended->ended_by != TreeLimit::kNone) {
    return EndedByEntry(history.ended->ended_by);
  }
  if (count.out_of_memory) return EndedByEntry(TreeLimit::kMemory);
  return std::nullopt;
}

ReportEntry UnobservedEntry(int error_number) {
  const std::string why = std::generic_category().message(error_number);
  return {
      "observation", FeatureStatus::kUnenforced,
      error_number == EBUSY
          ? "refusals are not listed: the calls of this program are observed already, as inside "
            "another sandbox"
          : absl::StrCat("refusals are not listed: the kernel gives no notifications: ", why)};
}

void MarkUnproved(RunResult& result) {
  result.end_proved = false;
  result.report.lifetime = LifetimeContainment::kUnspecified;
  result.report.entries.push_back(
      {"lifetime", FeatureStatus::kUnenforced,
       "processes of this command may still run: their end could not be proved"});
}

LogRecord ExitRecord(const std::string& execution_id, const absl::StatusOr<RunResult>& result) {
  LogRecord record{"exit", execution_id, {}};
  if (!result.ok()) {
    record.fields.emplace_back("error", std::string(result.status().message()));
    return record;
  }
  const Outcome& outcome = result->outcome;
  record.fields.emplace_back("outcome", std::string(OutcomeKindName(outcome.kind)));
  if (outcome.code.has_value()) record.fields.emplace_back("code", absl::StrCat(*outcome.code));
  if (outcome.signal.has_value()) {
    record.fields.emplace_back("signal", absl::StrCat(*outcome.signal));
  }
  record.fields.emplace_back("wall_ms", absl::StrCat(outcome.wall.count()));
  return record;
}

}  // namespace cordon::internal
