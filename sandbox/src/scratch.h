// The folder of an executor set on the host's disk: made below the caller's scratch root, locked
// while its owner lives, and removed with everything that commands left in it.

#ifndef CORDON_SANDBOX_SRC_SCRATCH_H_
#define CORDON_SANDBOX_SRC_SCRATCH_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/unique_fd.h"
#include "view.h"

namespace cordon::internal {

// Removes the folder `name` of the open folder `parent` with everything below it. Never follows a
// link, and needs neither stack nor descriptors in proportion to the depth, which a command
// chooses. Something that is gone already is fine. Returns kInternal for what could not be removed.
[[nodiscard]] absl::Status RemoveTree(int parent, const std::string& name);

// The names of the sets' folders in the open folder `root` (borrowed), and whether the owner of one
// (open, borrowed) lives.
[[nodiscard]] std::vector<std::string> ScratchFoldersIn(int root);
[[nodiscard]] bool HasOwner(int folder);

// Safe from any thread.
class ScratchFolder {
 public:
  // Makes a folder `cordon-own-*`, mode 0700, in `scratch_root`. Returns kInvalidOption when the
  // root is no folder or cannot be written.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ScratchFolder>> Create(
      const std::string& scratch_root);

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();  // Removes.

  // Absolute, symbolic links resolved.
  [[nodiscard]] const std::string& path() const { return path_; }

  // The folder that it was made in, and its name there.
  [[nodiscard]] int root() const { return root_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  // New private folders for one executor, whose names start with `name`: those that it needs.
  [[nodiscard]] absl::StatusOr<ScratchFolders> MakeExecutorFolders(const std::string& name,
                                                                   HomeMode home);
  [[nodiscard]] absl::Status RemoveExecutorFolders(const std::string& name);

  // Removes those in the root whose owner died without removing them: nobody holds the lock
  // (flock(2)) on them, or on the file `lock` that they have where folders cannot be locked, any
  // more. Takes as long as it takes to list the root.
  void RemoveAbandoned();

  // Removes the folder. Idempotent; can be tried again after an error.
  [[nodiscard]] absl::Status Remove();

 private:
  [[nodiscard]] absl::Status RemoveFoldersLocked(const std::string& name);

  ScratchFolder(UniqueFd root, UniqueFd folder, UniqueFd lock, const std::string& root_path,
                std::string name);

  const std::string name_;
  const std::string path_;
  std::mutex mutex_;
  UniqueFd root_;
  UniqueFd folder_;
  UniqueFd lock_;
  bool removed_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SCRATCH_H_
