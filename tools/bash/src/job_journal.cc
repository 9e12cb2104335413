#include "job_journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>

#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {
namespace {

using nlohmann::json;

constexpr char kName[] = "journal";
constexpr char kNewName[] = "journal.new";
// The whole command is in the audit log; here it only tells jobs apart.
constexpr std::size_t kMaxCommandBytes = 2048;
constexpr std::size_t kMaxJournalBytes = std::size_t{16} << 20;

constexpr Outcome::Kind kOutcomeKinds[] = {Outcome::Kind::kExited, Outcome::Kind::kSignaled,
                                           Outcome::Kind::kTimedOut, Outcome::Kind::kOutputLimit,
                                           Outcome::Kind::kCancelled};
constexpr JobState kStates[] = {JobState::kStarting, JobState::kRunning, JobState::kEnded,
                                JobState::kLost};

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value.has_value() ? json(*value) : json(nullptr);
}

std::string Line(const JournalEntry& entry) {
  const JobInfo& job = entry.job;
  json object = {{"handle", job.handle},
                 {"owner", entry.owner},
                 {"execution_id", job.execution_id},
                 {"command", job.command.substr(0, kMaxCommandBytes)},
                 {"directory", job.working_directory},
                 {"state", std::string(JobStateName(job.state))},
                 {"started_ms", std::chrono::duration_cast<std::chrono::milliseconds>(
                                    job.started.time_since_epoch())
                                    .count()}};
  if (job.outcome.has_value()) {
    object["outcome"] = std::string(OutcomeKindName(job.outcome->kind));
    object["code"] = OrNull(job.outcome->code);
    object["signal"] = OrNull(job.outcome->signal);
    object["wall_ms"] = job.outcome->wall.count();
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string Text(const json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : std::string();
}

std::optional<int> Number(const json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  return member->get<int>();
}

std::optional<JournalEntry> ParseLine(std::string_view line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  JournalEntry entry{Text(object, "owner"), {}};
  JobInfo& job = entry.job;
  job.handle = Text(object, "handle");
  if (!IsJobHandle(job.handle) || entry.owner.empty()) return std::nullopt;
  job.execution_id = Text(object, "execution_id");
  job.command = Text(object, "command");
  job.working_directory = Text(object, "directory");
  const auto started = object.find("started_ms");
  if (started != object.end() && started->is_number_integer()) {
    job.started = std::chrono::system_clock::time_point(
        std::chrono::milliseconds(started->get<std::int64_t>()));
  }
  for (const JobState state : kStates) {
    if (JobStateName(state) == Text(object, "state")) job.state = state;
  }
  if (job.state == JobState::kEnded) {
    job.outcome.emplace();
    for (const Outcome::Kind kind : kOutcomeKinds) {
      if (OutcomeKindName(kind) == Text(object, "outcome")) job.outcome->kind = kind;
    }
    job.outcome->code = Number(object, "code");
    job.outcome->signal = Number(object, "signal");
    job.outcome->wall = std::chrono::milliseconds(Number(object, "wall_ms").value_or(0));
  }
  return entry;
}

// The last line about each job, in the order of their first ones.
std::vector<JournalEntry> ParseJournal(std::string_view text) {
  std::vector<JournalEntry> entries;
  std::map<std::string, std::size_t> index;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // Torn.
    std::optional<JournalEntry> entry = ParseLine(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (!entry.has_value()) continue;
    const auto [place, is_new] = index.emplace(entry->job.handle, entries.size());
    if (is_new) {
      entries.push_back(*std::move(entry));
    } else {
      entries[place->second] = *std::move(entry);
    }
  }
  return entries;
}

absl::StatusOr<std::string> ReadJournal(int folder) {
  const UniqueFd file(openat(folder, kName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) {
    if (errno == ENOENT) return std::string();
    return MakeErrnoError(errno, "cannot open the journal of background jobs");
  }
  std::string text;
  char buffer[65536];
  while (text.size() < kMaxJournalBytes) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MakeErrnoError(errno, "cannot read the journal of background jobs");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return MakeError(ErrorCode::kInternal, "the journal of background jobs is too long");
}

absl::Status WriteDurably(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return MakeErrnoError(errno, "cannot write the journal of background jobs");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fdatasync(fd) == 0) return absl::OkStatus();
  return MakeErrnoError(errno, "cannot sync the journal of background jobs");
}

}  // namespace

bool IsJobHandle(std::string_view text) {
  constexpr std::string_view kPrefix = "job-";
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + kJobHandleDigits) return false;
  text.remove_prefix(kPrefix.size());
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

absl::StatusOr<JobJournal> JobJournal::Open(int folder) {
  absl::StatusOr<std::string> text = ReadJournal(folder);
  if (!text.ok()) return text.status();
  JobJournal journal(folder);
  journal.found_ = ParseJournal(*text);
  for (JournalEntry& entry : journal.found_) {
    if (entry.job.state != JobState::kEnded) entry.job.state = JobState::kLost;
  }
  if (absl::Status status = journal.Rewrite(journal.found_); !status.ok()) return status;
  return journal;
}

absl::Status JobJournal::Append(const JournalEntry& entry) {
  ++lines_;
  // A line that could not be written whole must not spoil this one.
  const std::string line = (torn_ ? "\n" : "") + Line(entry);
  const absl::Status status = WriteDurably(file_.get(), line);
  torn_ = !status.ok();
  return status;
}

absl::Status JobJournal::Rewrite(const std::vector<JournalEntry>& entries) {
  (void)unlinkat(folder_, kNewName, 0);
  UniqueFd file(openat(folder_, kNewName,
                       O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return MakeErrnoError(errno, "cannot make the journal of background jobs");
  std::string text;
  for (const JournalEntry& entry : entries) text += Line(entry);
  if (absl::Status status = WriteDurably(file.get(), text); !status.ok()) return status;
  if (renameat(folder_, kNewName, folder_, kName) != 0 || fsync(folder_) != 0) {
    return MakeErrnoError(errno, "cannot replace the journal of background jobs");
  }
  file_ = std::move(file);
  lines_ = entries.size();
  return absl::OkStatus();
}

}  // namespace cordon::internal
