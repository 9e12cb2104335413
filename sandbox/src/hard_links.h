// Other names of files: a rule about a file holds for the file, however many names it has.

#ifndef CORDON_SANDBOX_SRC_HARD_LINKS_H_
#define CORDON_SANDBOX_SRC_HARD_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "workspace_index.h"

namespace cordon::internal {

// For one thread at a time.
class HardLinks {
 public:
  static constexpr std::size_t kMaxNames = 100'000;
  // So many are looked at before each command; of more, only when the paths or the index change.
  static constexpr std::size_t kMaxNoted = 500;

  struct Found {
    std::vector<std::string> names;  // Sorted; those that were asked for are among them.
    bool complete = true;            // False when there were more than `kMaxNames` to look at.
  };

  // The names, in the folders that `index` holds, of all files at or below `paths` which have more
  // than one.
  [[nodiscard]] const Found& Find(const WorkspaceIndex& index, std::vector<std::string> paths);

  // Whether the last files all had one name only, and are in the journal of that search: while that
  // holds, nothing else would be found in an index with other names.
  [[nodiscard]] bool HasNone() const { return files_.empty() && seen_ <= kMaxNoted; }

 private:
  void Collect();
  void CollectFrom(const std::string& path);

  std::uint64_t generation_ = 0;  // Of the index, with which `found_` was found.
  std::vector<std::string> paths_;
  std::size_t seen_ = 0;
  std::set<FileNumber> files_;
  Found found_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HARD_LINKS_H_
