// Other names of files: a rule about a file holds for the file, however many names it has.

#ifndef CORDON_SANDBOX_SRC_HARD_LINKS_H_
#define CORDON_SANDBOX_SRC_HARD_LINKS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "workspace_index.h"

namespace cordon::internal {

// For one thread at a time.
class HardLinks {
 public:
  static constexpr std::size_t kMaxNames = 100'000;

  struct Found {
    std::vector<std::string> names;  // Sorted; those that were asked for are among them.
    bool complete = true;            // False when there were more than `kMaxNames` to look at.
  };

  // The names, in the folders that `index` holds, of all files at or below `paths` which have more
  // than one. Costs nothing while the paths and the index stay the same.
  [[nodiscard]] const Found& Find(const WorkspaceIndex& index, std::vector<std::string> paths);

 private:
  void Collect(const std::string& path);

  bool is_known_ = false;
  std::vector<std::string> paths_;
  std::size_t seen_ = 0;
  std::set<FileNumber> files_;
  Found found_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HARD_LINKS_H_
