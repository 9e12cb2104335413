// What an index knows of each folder, and of the trees that these make.

#ifndef CORDON_SANDBOX_SRC_INDEX_RECORD_H_
#define CORDON_SANDBOX_SRC_INDEX_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "folder_watches.h"

namespace cordon::internal {

// Of one folder. For one thread at a time.
struct FolderRecord {
  enum class State : std::uint8_t { kUnread, kListed, kUnlisted, kOtherMount };
  struct Finding {
    enum class Kind : std::uint8_t { kMatch, kGitFile, kSocket };
    Kind kind = Kind::kMatch;
    NodeType type = NodeType::kFile;
    std::size_t pattern = 0;  // Of kMatch: the position in the request.
    std::string name;
  };
  struct Child {
    std::string name;
    std::unique_ptr<FolderRecord> record;
  };

  [[nodiscard]] bool is_repository() const { return has_head && has_objects && has_refs; }

  // Sorts the children, takes over what is `known` of them, and leaves out object stores.
  void Complete(std::vector<Child> known, std::string_view path, bool whole_repositories);

  // After the attempt to list it, which gave `error`. False when the host is to blame for that.
  bool SetState(int error);

  void Clear();

  // As if it had never been looked at.
  void Forget();

  // Whether the folder that has `status` is the one that was looked at, and has not changed since.
  [[nodiscard]] bool IsOf(const NodeStatus& status) const {
    return status.stamp == stamp && status.born_ns == born_ns;
  }

  State state = State::kUnread;
  bool may_change_unnoticed = false;
  bool has_head = false;  // The three by which git knows a repository.
  bool has_objects = false;
  bool has_refs = false;
  std::size_t names = 0;
  DirectoryStamp stamp;
  std::int64_t born_ns = 0;
  std::int64_t listed_at_ns = 0;  // `FileClockNanoseconds` before it was listed.
  FolderWatch watch;
  std::vector<Finding> findings;
  std::vector<Child> children;  // Sorted by name.
};

// A root with everything below it on the same mount.
struct IndexTree {
  UniqueFd root;  // Only while it is being refreshed.
  std::string path;
  bool optional = false;
  bool incomplete = false;
  bool watchable = false;
  bool keeps_times = false;  // `FolderWatches::IsWatchable`
  std::uint64_t mount = 0;   // `NodeStatus::mount` of the root; 0: not known.
  std::size_t names = 0;
  FolderRecord top;
};

using IndexTrees = std::map<std::string, std::unique_ptr<IndexTree>>;  // By path.

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_INDEX_RECORD_H_
