// A folder that lists processes as /proc does, but only some: their numbers as empty folders. In
// the landlock tier it is what a command gets that lists /proc, since a folder of /proc itself
// would list the processes of the whole host.

#ifndef CORDON_SANDBOX_SRC_PROCESS_LISTING_H_
#define CORDON_SANDBOX_SRC_PROCESS_LISTING_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// Used by one thread at a time.
class ProcessListing {
 public:
  // `folder` does not exist yet and lies where no command may look or write.
  explicit ProcessListing(std::string folder) : folder_(std::move(folder)) {}
  ProcessListing(const ProcessListing&) = delete;
  ProcessListing& operator=(const ProcessListing&) = delete;
  ~ProcessListing();  // Removes the folder.

  // A new descriptor to read the folder with, after it was made to list exactly `processes`;
  // invalid when that cannot be done.
  [[nodiscard]] UniqueFd Open(const std::vector<pid_t>& processes);

 private:
  const std::string folder_;
  UniqueFd handle_;
  std::set<std::string> names_;  // What it lists.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PROCESS_LISTING_H_
