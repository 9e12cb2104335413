// What was found at the paths of a policy, so that it need not be looked for again before each
// command. Most of those paths are the system's, nearly a hundred in a dozen folders.

#ifndef CORDON_SANDBOX_SRC_PLACE_MEMORY_H_
#define CORDON_SANDBOX_SRC_PLACE_MEMORY_H_

#include <map>
#include <string>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"
#include "view_rules.h"

namespace cordon::internal {

// For one thread at a time.
class PlaceMemory {
 public:
  // As `FindRulePlaces(paths)` finds them now. What is at a path of the system (`SystemPaths`) is
  // taken from before while its folder is the same and unchanged, by the times that the kernel
  // keeps, and nothing was mounted or unmounted: no name can come, go or lead elsewhere without
  // that. All other paths are looked at again, whatever file system they are on.
  [[nodiscard]] const std::vector<RulePlace>& Find(const PathPolicy& paths);

 private:
  struct Folder {
    DirectoryStamp stamp;
    bool may_change_unnoticed = true;
    bool is_checked = false;  // By the present `Find`.
    std::map<std::string, NodeType> types;
  };

  [[nodiscard]] NodeType Remembered(const std::string& path);
  [[nodiscard]] NodeType TypeOf(const std::string& path);
  [[nodiscard]] Folder& CheckedFolder(const std::string& path);
  void BeginChecks();

  std::map<std::string, Folder> folders_;
  UniqueFd mounts_;              // /proc/self/mountinfo, which poll(2) watches (proc(5)).
  std::vector<PathRule> rules_;  // Of the policy that `places_` are for.
  std::vector<GlobRule> globs_;
  std::vector<NodeType> types_;
  std::vector<RulePlace> places_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLACE_MEMORY_H_
