// One background job: its process, its two pipes and its spool. The registry's thread drives it.

#ifndef CORDON_TOOLS_BASH_JOB_H_
#define CORDON_TOOLS_BASH_JOB_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/unique_fd.h"
#include "output_spool.h"

namespace cordon::internal {

using SteadyTime = std::chrono::steady_clock::time_point;

// Both ends O_CLOEXEC.
struct JobPipe {
  UniqueFd reader;
  UniqueFd writer;
};
[[nodiscard]] absl::StatusOr<JobPipe> MakeJobPipe();

// Safe from any thread, but for what says otherwise.
class Job {
 public:
  Job(std::string owner, JobInfo info, std::unique_ptr<OutputSpool> spool)
      : owner_(std::move(owner)), info_(std::move(info)), spool_(std::move(spool)) {}

  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] const std::string& handle() const { return info_.handle; }
  [[nodiscard]] JobInfo Info() const;
  [[nodiscard]] bool IsOver() const;  // kEnded or kLost.
  [[nodiscard]] absl::StatusOr<JobOutput> Read(std::uint64_t cursor, std::size_t max_bytes) const;

  // Prepares and starts the command. Once, before anybody else knows the job.
  [[nodiscard]] absl::Status Start(std::shared_ptr<Executor> executor, const Command& command,
                                   JobOptions options);

  // For the registry's thread: what to poll, and what to do then.
  [[nodiscard]] int output_fd() const { return output_.get(); }  // -1 after the end of the output.
  [[nodiscard]] int exit_fd() const { return process()->exit_fd(); }
  [[nodiscard]] SteadyTime time_limit() const { return time_limit_; }
  void OnTimeLimit();
  // Takes in what was written, at most some 256 KiB; true when there was something.
  bool DrainOutput();
  // The tree has ended: takes in the rest and settles the outcome. `MarkEnded` lets others see it.
  void Settle();
  void MarkEnded();

  [[nodiscard]] absl::StatusOr<std::size_t> WriteInput(std::string_view bytes, SteadyTime deadline);
  void CloseInput();
  [[nodiscard]] absl::Status Signal(ProcessSignal signal);
  // Kills the tree and waits for its end.
  [[nodiscard]] absl::Status Kill();

 private:
  [[nodiscard]] std::shared_ptr<Process> process() const;  // Null before the start, after the end.

  const std::string owner_;
  mutable std::mutex mutex_;
  JobInfo info_;  // The handle never changes.
  const std::unique_ptr<OutputSpool> spool_;
  bool timed_out_ = false;

  std::shared_ptr<Executor> executor_;
  std::shared_ptr<Process> process_;
  UniqueFd output_;  // The registry's thread only, once the job runs.
  SteadyTime time_limit_ = SteadyTime::max();

  std::mutex input_mutex_;
  JobPipe input_;  // The reader is kept, so that writing never raises SIGPIPE in the caller.
};

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_JOB_H_
