// Looks at one folder of an index: asks whether it is still what it was, and reads it when it is
// not.

#ifndef CORDON_SANDBOX_SRC_FOLDER_LOOK_H_
#define CORDON_SANDBOX_SRC_FOLDER_LOOK_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "absl/status/status.h"
#include "directory_reader.h"
#include "folder_watches.h"
#include "glob_filter.h"
#include "index_record.h"
#include "index_request.h"

namespace cordon::internal {

// What is looked for, for all folders; nothing here is owned.
struct LookRules {
  const IndexRequest* request = nullptr;
  const GlobFilter* filter = nullptr;                     // Of the request's patterns.
  const std::unordered_set<std::string>* skip = nullptr;  // As in the request.
  FolderWatches* watches = nullptr;                       // Null: no folder is watched.
};

// For one thread at a time. Several of one tree may look at different folders at the same time,
// unless folders are watched.
class FolderLook {
 public:
  // Of `tree`, which must outlive it and whose root is open.
  FolderLook(const LookRules& rules, const IndexTree& tree)
      : rules_(rules), tree_(tree), matcher_(*rules.filter) {}
  FolderLook(const FolderLook&) = delete;
  FolderLook& operator=(const FolderLook&) = delete;

  // Brings `record` up to date, that of the folder `relative` below the root ("" is the root).
  // Returns kInternal when the host lacks memory or descriptors.
  [[nodiscard]] absl::Status At(const std::string& relative, FolderRecord& record);

  // How many folders had to be read.
  [[nodiscard]] std::size_t folders_read() const { return folders_read_; }

 private:
  absl::Status Read(const std::string& relative, FolderRecord& record);
  void NoteName(FolderRecord& record, const std::string& folder, std::string_view name,
                NodeType type);

  const LookRules rules_;
  const IndexTree& tree_;
  NameMatcher matcher_;
  std::size_t folders_read_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_FOLDER_LOOK_H_
