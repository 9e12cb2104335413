#include "cordon/bash/process_registry.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "cordon/sdk/status.h"
#include "folder_registry.h"
#include "job_folder.h"
#include "job_journal.h"

namespace cordon {
namespace internal {
namespace {

absl::Status CheckOptions(const ProcessRegistryOptions& options) {
  const bool room = options.max_running > 0 && options.max_running_per_owner > 0;
  if (room && options.segment_bytes > 0 && options.max_output_bytes / 3 >= options.segment_bytes) {
    return absl::OkStatus();
  }
  return MakeError(ErrorCode::kInvalidOption,
                   "background jobs: the quotas must be at least 1 and max_output_bytes three "
                   "times segment_bytes");
}

absl::StatusOr<std::unique_ptr<ProcessRegistry>> OpenIn(ProcessRegistryOptions options,
                                                        UniqueFd folder) {
  absl::StatusOr<JobJournal> journal = JobJournal::Open(folder.get());
  if (!journal.ok()) return journal.status();
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return MakeErrnoError(errno, "cannot make an event for background jobs");
  return std::make_unique<FolderProcessRegistry>(std::move(options), std::move(folder),
                                                 *std::move(journal), std::move(wake));
}

}  // namespace
}  // namespace internal

std::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kStarting:
      return "starting";
    case JobState::kRunning:
      return "running";
    case JobState::kEnded:
      return "ended";
    case JobState::kLost:
      return "lost";
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<ProcessRegistry>> ProcessRegistry::Open(
    ProcessRegistryOptions options) {
  if (absl::Status status = internal::CheckOptions(options); !status.ok()) return status;
  absl::StatusOr<UniqueFd> folder = internal::OpenJobFolder(options.folder);
  if (!folder.ok()) return folder.status();
  return internal::OpenIn(std::move(options), *std::move(folder));
}

absl::StatusOr<std::unique_ptr<ProcessRegistry>> ProcessRegistry::OpenTemporary(
    const std::string& parent, ProcessRegistryOptions options) {
  if (absl::Status status = internal::CheckOptions(options); !status.ok()) return status;
  internal::SweepTemporaryJobFolders(parent);
  absl::StatusOr<internal::TemporaryJobFolder> folder = internal::MakeTemporaryJobFolder(parent);
  if (!folder.ok()) return folder.status();
  options.folder = folder->path;
  options.remove_folder = true;
  return internal::OpenIn(std::move(options), std::move(folder->locked));
}

}  // namespace cordon
