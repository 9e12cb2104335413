// Background jobs: commands that outlive the call that started them, but never their session. Each
// has an unguessable handle that belongs to one owner, and its output is kept on disk, to be read
// from a cursor.

#ifndef CORDON_BASH_PROCESS_REGISTRY_H_
#define CORDON_BASH_PROCESS_REGISTRY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/denial.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"

namespace cordon {

// A handle is "job-" and this many hexadecimal digits, 96 random bits.
inline constexpr std::size_t kJobHandleDigits = 24;

enum class JobState : std::uint8_t {
  kStarting,
  kRunning,
  kEnded,  // `JobInfo::outcome` says how.
  kLost,   // The program that kept it ended first. Its tree ended with that program.
};

[[nodiscard]] std::string_view JobStateName(JobState state);  // "running", "lost", ...

struct JobInfo {
  std::string handle;
  std::string execution_id;
  std::string command;  // `CommandDisplay`; after a restart perhaps only its beginning.
  std::string working_directory;
  JobState state = JobState::kStarting;
  std::chrono::system_clock::time_point started;
  // Both streams together, in the order in which they were written.
  std::uint64_t output_bytes = 0;
  // Could not be written to disk; read as skipped.
  std::uint64_t lost_output_bytes = 0;
  std::optional<Outcome> outcome;
  // Of a job that ended in this process.
  std::vector<Denial> denials;
  std::vector<std::string> changed_protected;
  std::vector<ConsumedGrant> grants;
};

struct JobOutput {
  std::string bytes;
  std::uint64_t skipped_bytes = 0;  // Between the cursor and `bytes`; not kept any more.
  std::uint64_t next_cursor = 0;    // Where the next read goes on.
  bool at_end = false;              // The job has ended and nothing follows.
};

struct JobOptions {
  std::string execution_id;  // Empty: a fresh one.
  std::vector<Grant> grants;
  // The job is ended then, like by `Stop`, and its outcome is kTimedOut.
  std::optional<std::chrono::milliseconds> timeout;
};

enum class WaitFor : std::uint8_t {
  kAnyEnd,
  kAllEnd,
  kOutput,  // Any of them has more output than when the wait began, or ended.
};

struct ProcessRegistryOptions {
  // An absolute path; made (0700) if missing. Only this user may have access, no command may write
  // there, and one registry at a time uses it. What an earlier one left in it is listed as kEnded
  // or kLost.
  std::string folder;
  // `Close` removes the folder with everything in it.
  bool remove_folder = false;
  std::size_t max_running_per_owner = 8;
  std::size_t max_running = 16;
  // Beyond it the job that ended first is forgotten, with its output.
  std::size_t max_ended = 32;
  // On disk per job: the first segment and the newest ones.
  std::uint64_t segment_bytes = 256 * 1024;
  std::uint64_t max_output_bytes = 8 * 1024 * 1024;  // At least three segments.
  // Called once for each job that ends, from the registry's own thread, without locks; it must not
  // block and must not call `Close`. May be null.
  std::function<void(const std::string& owner, const JobInfo& job)> on_end;
};

// Safe from any thread. Runs one thread of its own however many jobs there are, and holds of each
// job a few descriptors and a few hundred bytes. A handle of another owner is unknown: kNotFound.
class ProcessRegistry {
 public:
  // Returns kInvalidOption for options that contradict each other or a folder that others may
  // enter, kBusy when another registry uses it.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ProcessRegistry>> Open(
      ProcessRegistryOptions options);
  // The same in a fresh folder below `parent`, removed by `Close`. First removes what registries of
  // this user left below `parent` when they were killed.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ProcessRegistry>> OpenTemporary(
      const std::string& parent, ProcessRegistryOptions options = {});

  // Closes.
  virtual ~ProcessRegistry() = default;

  // Writes the job down, then starts it with an open standard input and both output streams merged.
  // Returns kBusy, naming the quota, before any grant is spent; kInvalidOption when the executor's
  // profile lets commands write to the registry's folder; else the errors of
  // `Executor::PrepareProcess` and `PreparedProcess::Start`.
  [[nodiscard]] virtual absl::StatusOr<JobInfo> Start(std::string_view owner,
                                                      std::shared_ptr<Executor> executor,
                                                      const Command& command,
                                                      JobOptions options) = 0;

  // Oldest first.
  [[nodiscard]] virtual std::vector<JobInfo> List(std::string_view owner) const = 0;
  [[nodiscard]] virtual absl::StatusOr<JobInfo> Find(std::string_view owner,
                                                     std::string_view handle) const = 0;

  // At most `max_bytes` from `cursor` on. Never waits.
  [[nodiscard]] virtual absl::StatusOr<JobOutput> Read(std::string_view owner,
                                                       std::string_view handle,
                                                       std::uint64_t cursor,
                                                       std::size_t max_bytes) const = 0;

  // Returns when `what` holds for `handles`, at `deadline` or when `stop` is requested; the jobs as
  // they are then, in the order of `handles`.
  [[nodiscard]] virtual absl::StatusOr<std::vector<JobInfo>> Wait(
      std::string_view owner, const std::vector<std::string>& handles, WaitFor what,
      std::chrono::steady_clock::time_point deadline, std::stop_token stop = {}) const = 0;

  // Writes to the job's standard input and returns how many bytes it took before `deadline`; a
  // program that does not read takes no more than a pipe holds. Whether this text may be sent is
  // the caller's business: to an interpreter it is a new operation. Returns kClosed when the job
  // has ended or its input was closed.
  [[nodiscard]] virtual absl::StatusOr<std::size_t> WriteInput(
      std::string_view owner, std::string_view handle, std::string_view bytes,
      std::chrono::steady_clock::time_point deadline) = 0;
  // End of file for the job. Idempotent.
  [[nodiscard]] virtual absl::Status CloseInput(std::string_view owner,
                                                std::string_view handle) = 0;

  // Ends the job's whole tree: terminate, `Process::kGrace`, kill. Returns once it has ended; at
  // once for one that has.
  [[nodiscard]] virtual absl::StatusOr<JobInfo> Stop(std::string_view owner,
                                                     std::string_view handle) = 0;

  // The jobs of `owner` that ended, each handed out once, oldest first.
  [[nodiscard]] virtual std::vector<JobInfo> TakeEnded(std::string_view owner) = 0;

  // Kills every job, waits for their ends and stops the thread. Idempotent. Returns kInternal when
  // an end could not be proved or the folder not be removed.
  virtual absl::Status Close() = 0;
};

}  // namespace cordon

#endif  // CORDON_BASH_PROCESS_REGISTRY_H_
