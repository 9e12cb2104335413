#include "folder_registry.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "job_folder.h"
#include "output_spool.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;

// A tree that was terminated is killed after the grace; the rest is for the proof of its end.
constexpr milliseconds kStopPatience = Process::kGrace + std::chrono::seconds(8);
// The journal grows by a line for each change; beyond this many it is written anew.
constexpr std::size_t kMaxJournalLines = 1000;

}  // namespace

void FolderProcessRegistry::AdoptFound() {
  for (const JournalEntry& entry : journal_.found()) {
    absl::StatusOr<std::unique_ptr<OutputSpool>> spool =
        OutputSpool::OpenExisting(folder_.get(), entry.job.handle);
    jobs_.push_back(
        std::make_shared<Job>(entry.owner, entry.job, spool.ok() ? *std::move(spool) : nullptr));
  }
  ForgetOldestEndedLocked();
}

absl::Status FolderProcessRegistry::CheckFolderIsOutOfReach(const Profile& profile) const {
  if (profile.Settings().isolation == Isolation::kUnconfined) return absl::OkStatus();
  const absl::StatusOr<std::string> resolved = ResolveSymlinks(options_.folder);
  if (!resolved.ok()) return resolved.status();
  if (profile.Explain(Axis::kWrite, *resolved).access == Access::kDeny) return absl::OkStatus();
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("the profile lets commands write to %s, where background jobs "
                                   "are kept; keep them elsewhere",
                                   EscapeForDisplay(options_.folder)));
}

absl::Status FolderProcessRegistry::CheckQuotasLocked(std::string_view owner) const {
  std::size_t running = 0;
  std::size_t owners = 0;
  std::string names;
  for (const JobPtr& job : jobs_) {
    if (job->IsOver()) continue;
    ++running;
    if (job->owner() != owner) continue;
    ++owners;
    names += (names.empty() ? "" : ", ") + job->handle();
  }
  if (owners >= options_.max_running_per_owner) {
    return MakeError(ErrorCode::kBusy,
                     absl::StrFormat("%d background jobs are running, which is the most: stop one "
                                     "of %s first",
                                     owners, names));
  }
  if (running >= options_.max_running) {
    return MakeError(
        ErrorCode::kBusy,
        absl::StrFormat("this session has its maximum of %d background jobs", running));
  }
  return absl::OkStatus();
}

// A place in the list, on disk and in the journal; nothing has started.
absl::StatusOr<JobPtr> FolderProcessRegistry::Reserve(std::string_view owner,
                                                      const Command& command,
                                                      const JobOptions& options) {
  const std::lock_guard lock(mutex_);
  if (closed_) return MakeError(ErrorCode::kClosed, "the session of background jobs has ended");
  if (absl::Status status = CheckQuotasLocked(owner); !status.ok()) return status;
  JobInfo info;
  info.handle = "job-" + RandomId().substr(0, kJobHandleDigits);
  info.execution_id = options.execution_id.empty() ? RandomId() : options.execution_id;
  info.command = CommandDisplay(command);
  info.working_directory = command.working_directory;
  info.started = std::chrono::system_clock::now();
  absl::StatusOr<std::unique_ptr<OutputSpool>> spool = OutputSpool::Create(
      folder_.get(), info.handle, {options_.segment_bytes, options_.max_output_bytes});
  if (!spool.ok()) return spool.status();
  auto job = std::make_shared<Job>(std::string(owner), std::move(info), *std::move(spool));
  if (absl::Status written = journal_.Append({job->owner(), job->Info()}); !written.ok()) {
    (void)RemoveJobFolder(options_.folder + "/" + job->handle());
    return Annotate(written, "the background job was not started");
  }
  jobs_.push_back(job);
  return job;
}

absl::StatusOr<JobInfo> FolderProcessRegistry::Start(std::string_view owner,
                                                     std::shared_ptr<Executor> executor,
                                                     const Command& command, JobOptions options) {
  if (owner.empty() || executor == nullptr) {
    return MakeError(ErrorCode::kInvalidOption, "a background job needs an owner and an executor");
  }
  absl::Status status = CheckFolderIsOutOfReach(executor->profile());
  if (!status.ok()) return status;
  absl::StatusOr<JobPtr> reserved = Reserve(owner, command, options);
  if (!reserved.ok()) return reserved.status();
  const JobPtr& job = *reserved;
  options.execution_id = job->Info().execution_id;
  status = job->Start(std::move(executor), command, std::move(options));

  const std::lock_guard lock(mutex_);
  if (status.ok() && closed_) {
    (void)job->Kill();
    status = MakeError(ErrorCode::kClosed, "the session of background jobs has ended");
  }
  if (!status.ok()) {
    AbandonLocked(job);
    return status;
  }
  AppendLocked(job);
  started_.push_back(job);
  Wake();
  return job->Info();
}

// It never ran: nobody knows its handle.
void FolderProcessRegistry::AbandonLocked(const JobPtr& job) {
  std::erase(jobs_, job);
  (void)RemoveJobFolder(options_.folder + "/" + job->handle());
  std::vector<JournalEntry> entries;
  for (const JobPtr& kept : jobs_) entries.push_back({kept->owner(), kept->Info()});
  (void)journal_.Rewrite(entries);
}

void FolderProcessRegistry::ForgetOldestEndedLocked() {
  std::size_t over = 0;
  for (const JobPtr& job : jobs_) over += job->IsOver() ? 1 : 0;
  for (auto job = jobs_.begin(); job != jobs_.end() && over > options_.max_ended;) {
    if (!(*job)->IsOver()) {
      ++job;
      continue;
    }
    (void)RemoveJobFolder(options_.folder + "/" + (*job)->handle());
    job = jobs_.erase(job);
    --over;
  }
}

// What has happened has happened, whether or not it can be written down; a job whose end is not in
// the journal counts as lost after a restart.
void FolderProcessRegistry::AppendLocked(const JobPtr& job) {
  if (journal_.lines() < kMaxJournalLines) {
    (void)journal_.Append({job->owner(), job->Info()});
    return;
  }
  std::vector<JournalEntry> entries;
  for (const JobPtr& kept : jobs_) entries.push_back({kept->owner(), kept->Info()});
  (void)journal_.Rewrite(entries);
}

absl::StatusOr<JobPtr> FolderProcessRegistry::FindJob(std::string_view owner,
                                                      std::string_view handle) const {
  const std::lock_guard lock(mutex_);
  std::string known;
  for (const JobPtr& job : jobs_) {
    if (job->owner() != owner || job->Info().state == JobState::kStarting) continue;
    if (job->handle() == handle) return job;
    known += (known.empty() ? "" : ", ") + job->handle();
  }
  return MakeError(
      ErrorCode::kNotFound,
      absl::StrFormat("there is no background job \"%s\"; there %s", EscapeForDisplay(handle),
                      known.empty() ? "are none" : "are: " + known));
}

std::vector<JobInfo> FolderProcessRegistry::List(std::string_view owner) const {
  const std::lock_guard lock(mutex_);
  std::vector<JobInfo> infos;
  for (const JobPtr& job : jobs_) {
    if (job->owner() == owner) infos.push_back(job->Info());
  }
  return infos;
}

absl::StatusOr<JobInfo> FolderProcessRegistry::Find(std::string_view owner,
                                                    std::string_view handle) const {
  const absl::StatusOr<JobPtr> job = FindJob(owner, handle);
  if (!job.ok()) return job.status();
  return (*job)->Info();
}

absl::StatusOr<JobOutput> FolderProcessRegistry::Read(std::string_view owner,
                                                      std::string_view handle, std::uint64_t cursor,
                                                      std::size_t max_bytes) const {
  const absl::StatusOr<JobPtr> job = FindJob(owner, handle);
  if (!job.ok()) return job.status();
  return (*job)->Read(cursor, max_bytes);
}

absl::StatusOr<std::vector<JobInfo>> FolderProcessRegistry::Wait(
    std::string_view owner, const std::vector<std::string>& handles, WaitFor what,
    SteadyTime deadline, std::stop_token stop) const {
  std::vector<JobPtr> jobs;
  std::vector<std::uint64_t> seen;
  for (const std::string& handle : handles) {
    const absl::StatusOr<JobPtr> job = FindJob(owner, handle);
    if (!job.ok()) return job.status();
    jobs.push_back(*job);
    seen.push_back((*job)->Info().output_bytes);
  }
  const auto over = [](const JobPtr& job) { return job->IsOver(); };
  const auto holds = [&] {
    switch (what) {
      case WaitFor::kAnyEnd:
        return jobs.empty() || std::any_of(jobs.begin(), jobs.end(), over);
      case WaitFor::kAllEnd:
        return std::all_of(jobs.begin(), jobs.end(), over);
      case WaitFor::kOutput:
        for (std::size_t i = 0; i < jobs.size(); ++i) {
          if (jobs[i]->IsOver() || jobs[i]->Info().output_bytes > seen[i]) return true;
        }
        return jobs.empty();
    }
    return true;
  };
  {
    std::unique_lock lock(mutex_);
    (void)changed_.wait_until(lock, std::move(stop), deadline, holds);
  }
  std::vector<JobInfo> infos;
  for (const JobPtr& job : jobs) infos.push_back(job->Info());
  return infos;
}

absl::StatusOr<std::size_t> FolderProcessRegistry::WriteInput(std::string_view owner,
                                                              std::string_view handle,
                                                              std::string_view bytes,
                                                              SteadyTime deadline) {
  const absl::StatusOr<JobPtr> job = FindJob(owner, handle);
  if (!job.ok()) return job.status();
  return (*job)->WriteInput(bytes, deadline);
}

absl::Status FolderProcessRegistry::CloseInput(std::string_view owner, std::string_view handle) {
  const absl::StatusOr<JobPtr> job = FindJob(owner, handle);
  if (!job.ok()) return job.status();
  (*job)->CloseInput();
  return absl::OkStatus();
}

absl::StatusOr<JobInfo> FolderProcessRegistry::Stop(std::string_view owner,
                                                    std::string_view handle) {
  const absl::StatusOr<JobPtr> job = FindJob(owner, handle);
  if (!job.ok()) return job.status();
  absl::Status status = (*job)->Signal(ProcessSignal::kTerminate);
  if (!status.ok()) return status;
  const auto over = [&job] { return (*job)->IsOver(); };
  {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kStopPatience, over)) return (*job)->Info();
  }
  status = (*job)->Kill();
  if (!status.ok()) return status;
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kStopPatience, over)) return (*job)->Info();
  return MakeError(ErrorCode::kInternal,
                   absl::StrFormat("the end of %s cannot be proved", (*job)->handle()));
}

std::vector<JobInfo> FolderProcessRegistry::TakeEnded(std::string_view owner) {
  const std::lock_guard lock(mutex_);
  const auto found = ended_.find(owner);
  if (found == ended_.end()) return {};
  std::vector<JobInfo> infos = std::move(found->second);
  ended_.erase(found);
  return infos;
}

absl::Status FolderProcessRegistry::Close() {
  const std::lock_guard closing(close_mutex_);
  if (close_status_.has_value()) return *close_status_;
  std::vector<JobPtr> running;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    running = started_;
  }
  absl::Status status;
  // All at once first, so that the waits below overlap.
  for (const JobPtr& job : running) (void)job->Signal(ProcessSignal::kKill);
  for (const JobPtr& job : running) status.Update(job->Kill());
  if (!status.ok()) return status;
  loop_.request_stop();
  loop_.join();
  if (options_.remove_folder) status = RemoveJobFolder(options_.folder);
  close_status_ = status;
  return status;
}

}  // namespace cordon::internal
