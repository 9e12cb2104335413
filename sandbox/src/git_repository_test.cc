#include "git_repository.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using Paths = std::vector<std::string>;

void Write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// A main repository in `main`, with worktrees in `wt` and `other`, as `git worktree add` leaves it.
void MakeWorktrees(const TemporaryFolder& root) {
  const std::string git = root / "main/.git";
  for (const char* folder : {"objects", "refs", "hooks"}) {
    fs::create_directories(git + "/" + folder);
  }
  Write(git + "/HEAD", "ref: refs/heads/main\n");
  Write(git + "/config", "[core]\n\tbare = false\n");
  for (const std::string name : {"wt", "other"}) {
    const std::string admin = git + "/worktrees/" + name;
    Write(root / name + "/.git", "gitdir: " + admin + "\n");
    Write(admin + "/commondir", "../..\n");
    Write(admin + "/gitdir", root / name + "/.git\n");
    Write(admin + "/HEAD", "ref: refs/heads/" + name + "\n");
  }
}

}  // namespace

TEST_CASE("configuration files are read as git reads them", "[git]") {
  const std::vector<GitVariable> config = ParseGitConfig(
      "\xEF\xBB\xBF# comment\n"
      "[core]\n"
      "\thooksPath = own hooks  ; comment\n"
      "  BARE\n"
      "[remote \"Or\\\"igin\"] url = \"a ; b\" # c\n"
      "[Branch.Main]\n"
      "\tmerge = one\\\n two\\t\n"
      "[include]path=../inc");
  CHECK(config == std::vector<GitVariable>{
                      {"core", "", "hookspath", "own hooks"},
                      {"core", "", "bare", "true"},
                      {"remote", "Or\"igin", "url", "a ; b"},
                      {"branch", "main", "merge", "one two\t"},
                      {"include", "", "path", "../inc"},
                  });
}

TEST_CASE("a broken configuration file never ends the parser", "[git]") {
  for (const char* text :
       {"", "[", "[\"", "[a \"b", "[a]\nx = \"open", "=", "[a]\nx=\\", "]]]\n\n"}) {
    CHECK(ParseGitConfig(text).size() <= 1);
  }
}

TEST_CASE("names that run code are listed, those of worktrees too", "[git]") {
  const TemporaryFolder root;
  MakeWorktrees(root);
  const Paths names = SensitiveGitNames(root / "main/.git");
  for (const char* name : {"hooks", "config", "config.worktree", "commondir", "info/attributes",
                           "worktrees/wt/commondir", "worktrees/other/config.worktree"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
  CHECK(std::find(names.begin(), names.end(), "info/exclude") == names.end());
}

TEST_CASE("the hooks folder and included files that a configuration names are found", "[git]") {
  const TemporaryFolder root;
  Write(root / ".git/config",
        "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../shared\n"
        "[includeIf \"gitdir:x\"]\n\tpath = ~/mine\n");
  CHECK(ConfiguredGitPaths(root / ".git", "/home/u") ==
        Paths{root / ".husky", root / "shared", "/home/u/mine"});
}

TEST_CASE("a submodule's hooks folder is relative to its worktree", "[git]") {
  const TemporaryFolder root;
  fs::create_directories(root / "lib");
  Write(root / ".git/modules/lib/config", "[core]\n\tworktree = ../../../lib\n\thooksPath = h\n");
  CHECK(ConfiguredGitPaths(root / ".git/modules/lib", "") == Paths{root / "lib/h"});
}

TEST_CASE("a registered worktree leads to its main repository", "[git]") {
  const TemporaryFolder root;
  MakeWorktrees(root);
  const std::optional<LinkedWorktree> linked = FindLinkedWorktree(root / "wt");
  REQUIRE(linked.has_value());
  CHECK(linked->common == root / "main/.git");
  CHECK(linked->admin == root / "main/.git/worktrees/wt");
  const Paths& foreign = linked->foreign;
  for (const char* name : {"HEAD", "index", "worktrees/other", "worktrees/wt/gitdir"}) {
    CHECK(std::find(foreign.begin(), foreign.end(), root / "main/.git/" + name) != foreign.end());
  }
}

TEST_CASE("a planted gitdir file grants nothing", "[git]") {
  const TemporaryFolder root;
  MakeWorktrees(root);
  const std::string victim = root / "main/.git";
  const std::string file = root / "evil/.git";

  Write(file, "gitdir: " + victim + "/worktrees/wt\n");  // Registered for another folder.
  CHECK_FALSE(FindLinkedWorktree(root / "evil").has_value());

  Write(file, "gitdir: " + victim + "\n");  // No worktree at all.
  CHECK_FALSE(FindLinkedWorktree(root / "evil").has_value());

  // A complete registration of the attacker's own, with the victim as its common directory.
  Write(root / "evil/admin/worktrees/x/gitdir", file + "\n");
  Write(root / "evil/admin/worktrees/x/commondir", victim + "\n");
  fs::create_directories(root / "evil/admin/objects");
  Write(file, "gitdir: " + root / "evil/admin/worktrees/x\n");
  CHECK_FALSE(FindLinkedWorktree(root / "evil").has_value());

  fs::remove(file);
  fs::create_symlink(root / "wt/.git", file);
  CHECK_FALSE(FindLinkedWorktree(root / "evil").has_value());

  CHECK(FindLinkedWorktree(root / "wt").has_value());  // The control.
}

TEST_CASE("what git init and git clone write is not armed", "[git]") {
  const TemporaryFolder root;
  Write(root / "new/.git/hooks/pre-commit.sample", "#!/bin/sh\n");
  Write(root / "new/.git/config",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
        "[remote \"origin\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
        "[user]\n\tname = u\n");
  CHECK(ArmedGitNames(root / "new/.git").empty());
}

TEST_CASE("hooks, configuration that runs programs and redirections are armed", "[git]") {
  const TemporaryFolder root;
  const std::string git = root / "new/.git";
  Write(git + "/hooks/pre-commit", "#!/bin/sh\n");
  Write(git + "/config", "[core]\n\tfsmonitor = ./x\n");
  Write(git + "/commondir", "../evil\n");
  Write(git + "/info/attributes", "* filter=x\n");
  CHECK(ArmedGitNames(git) == Paths{git + "/hooks/pre-commit", git + "/config", git + "/commondir",
                                    git + "/info/attributes"});
  fs::remove_all(git);
  Write(root / "own/pre-commit", "#!/bin/sh\n");
  fs::create_directories(git);
  fs::create_directory_symlink("../../own", git + "/hooks");
  CHECK(ArmedGitNames(git) == Paths{git + "/hooks"});
}

}  // namespace cordon::internal
