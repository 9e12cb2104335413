// Brings the records of one tree up to date. When many folders wait to be looked at, other threads
// help; what comes out is the same.

#ifndef CORDON_SANDBOX_SRC_TREE_WALK_H_
#define CORDON_SANDBOX_SRC_TREE_WALK_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "folder_look.h"
#include "index_record.h"

namespace cordon::internal {

// What a walk finds out beside what is in the records.
struct WalkResult {
  std::size_t folders = 0;
  std::size_t folders_unwatched = 0;
  std::size_t folders_read = 0;
  std::size_t names = 0;
  std::vector<std::string> other_mounts;  // Folders on another mount; they were not entered.
};

// For one call of `Run`.
class TreeWalk {
 public:
  // `tree` must outlive it. Its root is open. `names_before`: those of other trees, which count for
  // the request's limit, too.
  TreeWalk(const LookRules& rules, IndexTree& tree, std::size_t names_before);
  TreeWalk(const TreeWalk&) = delete;
  TreeWalk& operator=(const TreeWalk&) = delete;

  // Returns when all threads have ended. Errors as of `WorkspaceIndex::Refresh`.
  [[nodiscard]] absl::Status Run();

  // After `Run`.
  [[nodiscard]] const WalkResult& result() const { return result_; }

 private:
  // A folder that waits to be looked at.
  struct Pending {
    FolderRecord* record = nullptr;
    std::string relative;
  };
  using Batch = std::vector<Pending>;
  struct Looked;

  void Work();
  [[nodiscard]] Batch Take(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Looked LookAt(const Batch& batch, FolderLook& look) const;
  void Add(Looked looked);
  [[nodiscard]] absl::Status CheckNames();
  [[nodiscard]] bool IsLarge() const;
  void CallHelpers();

  const LookRules rules_;
  IndexTree& tree_;
  const std::size_t names_before_;

  std::mutex mutex_;  // Guards what follows; that of the helpers only while there are any.
  std::size_t max_helpers_;
  std::vector<std::thread> helpers_;
  std::condition_variable changed_;
  std::vector<Pending> pending_;
  std::size_t busy_ = 0;  // Threads that look at folders, and may find more.
  bool given_up_ = false;
  absl::Status status_;
  WalkResult result_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_TREE_WALK_H_
