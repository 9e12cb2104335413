// The registry of background jobs that keeps them in a folder.

#ifndef CORDON_TOOLS_BASH_FOLDER_REGISTRY_H_
#define CORDON_TOOLS_BASH_FOLDER_REGISTRY_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/unique_fd.h"
#include "job.h"
#include "job_journal.h"

namespace cordon::internal {

using JobPtr = std::shared_ptr<Job>;

class FolderProcessRegistry final : public ProcessRegistry {
 public:
  FolderProcessRegistry(ProcessRegistryOptions options, UniqueFd folder, JobJournal journal,
                        UniqueFd wake)
      : options_(std::move(options)),
        folder_(std::move(folder)),
        wake_(std::move(wake)),
        journal_(std::move(journal)) {
    AdoptFound();
    loop_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
  }
  ~FolderProcessRegistry() override {
    (void)Close();
    abandoned_ = true;  // What could not be ended must not keep the thread.
  }

  absl::StatusOr<JobInfo> Start(std::string_view owner, std::shared_ptr<Executor> executor,
                                const Command& command, JobOptions options) override;
  std::vector<JobInfo> List(std::string_view owner) const override;
  absl::StatusOr<JobInfo> Find(std::string_view owner, std::string_view handle) const override;
  absl::StatusOr<JobOutput> Read(std::string_view owner, std::string_view handle,
                                 std::uint64_t cursor, std::size_t max_bytes) const override;
  absl::StatusOr<std::vector<JobInfo>> Wait(std::string_view owner,
                                            const std::vector<std::string>& handles, WaitFor what,
                                            SteadyTime deadline,
                                            std::stop_token stop) const override;
  absl::StatusOr<std::size_t> WriteInput(std::string_view owner, std::string_view handle,
                                         std::string_view bytes, SteadyTime deadline) override;
  absl::Status CloseInput(std::string_view owner, std::string_view handle) override;
  absl::StatusOr<JobInfo> Stop(std::string_view owner, std::string_view handle) override;
  std::vector<JobInfo> TakeEnded(std::string_view owner) override;
  absl::Status Close() override;

 private:
  void AdoptFound();
  [[nodiscard]] absl::Status CheckFolderIsOutOfReach(const Profile& profile) const;
  [[nodiscard]] absl::Status CheckQuotasLocked(std::string_view owner) const;
  [[nodiscard]] absl::StatusOr<JobPtr> Reserve(std::string_view owner, const Command& command,
                                               const JobOptions& options);
  [[nodiscard]] absl::StatusOr<JobPtr> FindJob(std::string_view owner,
                                               std::string_view handle) const;
  void AbandonLocked(const JobPtr& job);
  void ForgetOldestEndedLocked();
  void AppendLocked(const JobPtr& job);
  void Wake() const;

  void Loop(const std::stop_token& stop);
  [[nodiscard]] std::vector<JobPtr> Running() const;
  void PollOnce(const std::vector<JobPtr>& running);
  void OnEnd(const JobPtr& job);

  const ProcessRegistryOptions options_;
  const UniqueFd folder_;
  const UniqueFd wake_;

  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  JobJournal journal_;
  bool closed_ = false;
  std::vector<JobPtr> jobs_;                                        // Oldest first.
  std::vector<JobPtr> started_;                                     // Those that the thread polls.
  std::map<std::string, std::vector<JobInfo>, std::less<>> ended_;  // By owner, not yet taken.

  std::mutex close_mutex_;
  std::optional<absl::Status> close_status_;
  std::atomic<bool> abandoned_ = false;
  std::jthread loop_;
};

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_FOLDER_REGISTRY_H_
