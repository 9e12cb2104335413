// What would later run with the user's authority if a command could change it: which of it exists
// and must become read-only, which does not exist and must not come into being.

#ifndef CORDON_SANDBOX_SRC_PROTECTED_PATHS_H_
#define CORDON_SANDBOX_SRC_PROTECTED_PATHS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"
#include "git_repository.h"
#include "view.h"
#include "workspace_index.h"

namespace cordon::internal {

struct ProtectedPaths {
  struct Existing {
    std::string path;
    NodeType type = NodeType::kFile;
  };
  std::vector<Existing> existing;
  // Git directories: they keep their place, so that nothing is put into it.
  std::vector<std::string> pinned;
  std::vector<AbsentName> absent;
};

// Names protected by `paths` and by what git does, given what was found below the roots. Nothing
// when the policy has no protected patterns, but for `linked`, which is always protected. `home` is
// the user's, for git's `~/`.
[[nodiscard]] ProtectedPaths FindProtectedPaths(const PathPolicy& paths,
                                                const IndexContents& contents,
                                                const std::optional<LinkedWorktree>& linked,
                                                std::string_view home);

// The rules that let a command work in `linked` with the access that the workspace has: the main
// repository's git directory, without what belongs to others.
[[nodiscard]] std::vector<PathRule> LinkedWorktreeRules(const LinkedWorktree& linked,
                                                        bool writable);

// The path that a pattern stands for when it can match no other one: a literal path, or one whose
// special characters are escaped as `[*]`.
[[nodiscard]] std::optional<std::string> LiteralOfGlob(std::string_view pattern);

// In repositories that are in `after` and not in `before`: the names with which a command has armed
// them, see `ArmedGitNames`. Also folders that can no longer be listed, and so might hold one.
[[nodiscard]] std::vector<std::string> ArmedRepositories(const IndexContents& before,
                                                         const IndexContents& after);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PROTECTED_PATHS_H_
