// What git does with the files of a repository that matters to a sandbox: which of them make it run
// programs or take configuration from elsewhere, and where a linked worktree keeps its data. Reads
// only; functions are safe from any thread.

#ifndef CORDON_SANDBOX_SRC_GIT_REPOSITORY_H_
#define CORDON_SANDBOX_SRC_GIT_REPOSITORY_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon::internal {

// One variable of a git configuration file: section and name in lower case, as git compares them.
struct GitVariable {
  std::string section;     // "core"
  std::string subsection;  // Of `[remote "origin"]`; case is kept.
  std::string name;        // "hookspath"
  std::string value;

  friend bool operator==(const GitVariable&, const GitVariable&) = default;
};

// The variables in the text of a configuration file (git-config(1), SYNTAX). Lines that are not
// understood are left out.
[[nodiscard]] std::vector<GitVariable> ParseGitConfig(std::string_view text);

// The names in a git directory that run code or redirect git, relative to it. Some need not exist.
[[nodiscard]] std::vector<std::string> SensitiveGitNames(const std::string& git_directory);

// Absolute paths outside the git directory that its configuration makes git execute or read as
// configuration: the folder of core.hooksPath and included files. `home` is for a leading `~/`.
[[nodiscard]] std::vector<std::string> ConfiguredGitPaths(const std::string& git_directory,
                                                          std::string_view home);

// Of a worktree made with `git worktree add`.
struct LinkedWorktree {
  std::string common;                // The main repository's git directory.
  std::string admin;                 // COMMON/worktrees/NAME.
  std::vector<std::string> foreign;  // What belongs to the main and the other worktrees.
};

// The linked worktree whose top is `folder`. Both directions are checked: the file `folder`/.git
// names a folder COMMON/worktrees/NAME, and the file `gitdir` there, which only somebody who can
// write to the main repository could make, names `folder`/.git. Nothing for anything else, e.g. a
// planted file.
[[nodiscard]] std::optional<LinkedWorktree> FindLinkedWorktree(const std::string& folder);

// The git directory that the file or link `git_file` (named `.git`) leads to, links resolved; empty
// when it leads nowhere.
[[nodiscard]] std::string GitDirectoryOf(const std::string& git_file);

// Names in the git directory of a repository that was made during a run which would run code when a
// person uses git there: hooks other than samples, and configuration beyond what `git init` and
// `git clone` write. Absolute paths.
[[nodiscard]] std::vector<std::string> ArmedGitNames(const std::string& git_directory);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_GIT_REPOSITORY_H_
