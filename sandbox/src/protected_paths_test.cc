#include "protected_paths.h"

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

void Write(const std::string& path, const std::string& text = "x") {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

PathRule Rule(const std::string& path, Access write) {
  return {.path = path,
          .shape = PathShape::kTree,
          .read = Access::kAllow,
          .execute = Access::kAllow,
          .write = write,
          .origin = "test"};
}

PathPolicy Policy(std::vector<PathRule> rules, const Paths& protects) {
  std::vector<GlobRule> globs;
  for (const std::string& pattern : protects) {
    globs.push_back({pattern, GlobRule::Effect::kProtect, "protect_paths"});
  }
  return {std::move(rules), std::move(globs)};
}

Paths Existing(const ProtectedPaths& found) {
  Paths paths;
  for (const auto& existing : found.existing) paths.push_back(existing.path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool IsAbsent(const ProtectedPaths& found, const std::string& path) {
  return std::any_of(found.absent.begin(), found.absent.end(),
                     [&](const AbsentName& name) { return name.path == path; });
}

ProtectedPaths Find(const PathPolicy& policy, const std::string& root) {
  WorkspaceIndex index;
  IndexRequest request;
  request.roots = {root};
  for (const GlobRule& rule : policy.globs()) request.patterns.push_back({rule.pattern, false});
  REQUIRE(index.Refresh(request).ok());
  return FindProtectedPaths(policy, index.contents(), std::nullopt, "/home/u");
}

}  // namespace

TEST_CASE("a pattern without wildcards is a path, also when it is escaped", "[protected]") {
  CHECK(LiteralOfGlob("/w/.vscode") == "/w/.vscode");
  CHECK(LiteralOfGlob("/w[*]x[[]/a") == "/w*x[/a");
  CHECK_FALSE(LiteralOfGlob("/w/**/.git").has_value());
  CHECK_FALSE(LiteralOfGlob("/w/[ab]").has_value());
  CHECK_FALSE(LiteralOfGlob("/w/[!]").has_value());
}

TEST_CASE("missing names that a pattern spells out must stay missing", "[protected]") {
  const TemporaryFolder root;
  Write(root / ".envrc");
  const ProtectedPaths found =
      Find(Policy({Rule(root.path(), Access::kAllow)}, {root / ".envrc", root / ".vscode"}),
           root.path());
  CHECK(Existing(found) == Paths{root / ".envrc"});
  CHECK(IsAbsent(found, root / ".vscode"));
}

TEST_CASE("every git directory is pinned and its sensitive names are protected", "[protected]") {
  const TemporaryFolder root;
  Write(root / "a/.git/config");
  Write(root / "a/.git/hooks/pre-commit");
  const ProtectedPaths found =
      Find(Policy({Rule(root.path(), Access::kAllow)}, {root / "**/.git/config"}), root.path());
  CHECK(found.pinned == Paths{root / "a/.git"});
  CHECK(Existing(found) == Paths{root / "a/.git/config", root / "a/.git/hooks"});
  CHECK(IsAbsent(found, root / "a/.git/commondir"));
  CHECK(IsAbsent(found, root / "a/.git/info/attributes"));
}

TEST_CASE("where no repository is, one may be made", "[protected]") {
  const TemporaryFolder root;
  const ProtectedPaths found =
      Find(Policy({Rule(root.path(), Access::kAllow)}, {root / ".git/hooks"}), root.path());
  CHECK(found.absent.empty());
}

TEST_CASE("without protected patterns nothing is protected", "[protected]") {
  const TemporaryFolder root;
  Write(root / ".git/config");
  const ProtectedPaths found = Find(Policy({Rule(root.path(), Access::kAllow)}, {}), root.path());
  CHECK(found.existing.empty());
  CHECK(found.absent.empty());
  CHECK(found.pinned.empty());
}

TEST_CASE("a rule that names a protected path lifts the protection", "[protected]") {
  const TemporaryFolder root;
  Write(root / ".git/config");
  Write(root / ".git/hooks/x");
  const ProtectedPaths found =
      Find(Policy({Rule(root.path(), Access::kAllow), Rule(root / ".git/hooks", Access::kAllow)},
                  {root / "**/.git/hooks", root / "**/.git/config"}),
           root.path());
  CHECK(Existing(found) == Paths{root / ".git/config"});
}

TEST_CASE("the file or link in the place of a git directory is protected with what it leads to",
          "[protected]") {
  const TemporaryFolder root;
  Write(root / "real/config");
  fs::create_directories(root / "a");
  fs::create_directory_symlink("../real", root / "a/.git");
  Write(root / "b/.git", "gitdir: ../real\n");
  const ProtectedPaths found =
      Find(Policy({Rule(root.path(), Access::kAllow)}, {root / "**/.git/config"}), root.path());
  CHECK(Existing(found) ==
        Paths{root / "a/.git", root / "b/.git", root / "real", root / "real/config"});
}

TEST_CASE("a hooks folder that is a link is protected with its target", "[protected]") {
  const TemporaryFolder root;
  Write(root / ".git/config");
  Write(root / "own/pre-commit");
  fs::create_directory_symlink("../own", root / ".git/hooks");
  const ProtectedPaths found =
      Find(Policy({Rule(root.path(), Access::kAllow)}, {root / "**/.git/hooks"}), root.path());
  CHECK(Existing(found) == Paths{root / ".git/config", root / ".git/hooks", root / "own"});
}

TEST_CASE("only repositories that are new and armed are named", "[protected]") {
  const TemporaryFolder root;
  Write(root / "old/.git/hooks/pre-commit");
  WorkspaceIndex index;
  IndexRequest request;
  request.roots = {root.path()};
  REQUIRE(index.Refresh(request).ok());
  const IndexContents before = index.contents();
  Write(root / "harmless/.git/config", "[core]\n\tbare = false\n");
  Write(root / "armed/.git/hooks/pre-commit");
  Write(root / "elsewhere/config", "[core]\n\tfsmonitor = ./x\n");
  Write(root / "planted/.git", "gitdir: ../elsewhere\n");
  REQUIRE(index.Refresh(request).ok());
  CHECK(ArmedRepositories(before, index.contents()) ==
        Paths{root / "armed/.git/hooks/pre-commit", root / "elsewhere/config"});
  CHECK(ArmedRepositories(index.contents(), index.contents()).empty());
}

TEST_CASE("created names are removed, whatever they are, and nothing else", "[protected]") {
  const TemporaryFolder root;
  const TemporaryFolder outside;
  Write(outside / "kept");
  Write(root / ".vscode/deep/tasks.json");
  Write(root / "kept");
  fs::create_symlink(outside / "kept", root / ".envrc");
  fs::create_directory_symlink(outside.path(), root / "link");
  const std::vector<AbsentName> absent = {{root / ".vscode", ""},
                                          {root / ".envrc", ""},
                                          {root / "never-made", ""},
                                          {root / "link/kept", ""},
                                          {root / "missing/folder/name", ""}};
  CHECK(UndoCreatedNames(absent) == Paths{root / ".vscode", root / ".envrc"});
  CHECK_FALSE(fs::exists(root / ".vscode"));
  CHECK_FALSE(fs::is_symlink(root / ".envrc"));
  CHECK(fs::exists(root / "kept"));
  CHECK(fs::exists(outside / "kept"));
}

TEST_CASE("taking rights away does not save a created name", "[protected]") {
  const TemporaryFolder root;
  const std::string name = root / "a/.git/commondir";
  for (const char* locked : {"a/.git", "a"}) {
    for (const fs::perms rights : {fs::perms::none, fs::perms::owner_read, fs::perms::owner_exec,
                                   fs::perms::owner_exec | fs::perms::owner_read}) {
      Write(name);
      fs::permissions(root / locked, rights);
      CHECK(UndoCreatedNames({{name, ""}}) == Paths{name});
      fs::permissions(root / locked, fs::perms::owner_all);
      CHECK_FALSE(fs::exists(name));
    }
  }
}

TEST_CASE("a folder that was closed during a command is named", "[protected]") {
  IndexContents before;
  before.unlisted = {"/w/old"};
  IndexContents after = before;
  after.unlisted.insert(after.unlisted.begin(), "/w/new");
  CHECK(ArmedRepositories(before, after) == Paths{"/w/new"});
}

}  // namespace cordon::internal
