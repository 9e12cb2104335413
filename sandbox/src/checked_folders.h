// Folders of the host of which somebody has just found that they have not changed.

#ifndef CORDON_SANDBOX_SRC_CHECKED_FOLDERS_H_
#define CORDON_SANDBOX_SRC_CHECKED_FOLDERS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

namespace cordon::internal {

// As long as `version` is the same, so were the names in each of `folders` from when this version
// was first found to when it was last, at `at`.
struct CheckedFolders {
  std::uint64_t version = 0;  // Of no folders.
  std::chrono::steady_clock::time_point at;
  std::shared_ptr<const std::set<std::string>> folders = {};
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_CHECKED_FOLDERS_H_
