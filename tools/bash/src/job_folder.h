// The folder of a registry: private to this user, used by one registry at a time.

#ifndef CORDON_TOOLS_BASH_JOB_FOLDER_H_
#define CORDON_TOOLS_BASH_JOB_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// Opens `path`, made (0700) if missing, and locks it for as long as the descriptor lives
// (flock(2)). Returns kInvalidOption for a path that is not absolute or a folder of another user or
// with access for others, kBusy when it is locked.
[[nodiscard]] absl::StatusOr<UniqueFd> OpenJobFolder(const std::string& path);

struct TemporaryJobFolder {
  std::string path;
  UniqueFd locked;
};
// A fresh one below `parent`.
[[nodiscard]] absl::StatusOr<TemporaryJobFolder> MakeTemporaryJobFolder(const std::string& parent);

// Removes those below `parent` that are this user's and that nobody has locked.
void SweepTemporaryJobFolders(const std::string& parent);

// Removes a folder with everything in it, following no link.
[[nodiscard]] absl::Status RemoveJobFolder(const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_JOB_FOLDER_H_
