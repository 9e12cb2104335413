#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/status.h"
#include "scratch_folder.h"
#include "support/catch.h"

namespace cordon {
namespace {

using test::ScratchFolder;

bool Protected(std::string_view root, std::string_view path) {
  const std::vector<std::string> patterns = ProtectedPatterns(root);
  return std::any_of(patterns.begin(), patterns.end(),
                     [path](const std::string& pattern) { return GlobCovers(pattern, path); });
}

Profile Preset(const ScratchFolder& folder, std::string_view name) {
  absl::StatusOr<ProfileConfig> config = PresetConfig(name, folder / "ws");
  REQUIRE(config.ok());
  config->home_root = folder / "home";
  const absl::StatusOr<Profile> profile = Profile::Create(*config);
  REQUIRE(profile.ok());
  return *profile;
}

TEST_CASE("every list is made of normal paths and names, without repetition") {
  for (std::vector<std::string> paths : {SystemPaths(), SecretPaths("/home/user")}) {
    for (const std::string& path : paths) CHECK(NormalizePath(path) == path);
    std::sort(paths.begin(), paths.end());
    CHECK(std::adjacent_find(paths.begin(), paths.end()) == paths.end());
  }
  for (const std::string& pattern : ProtectedPatterns("/ws")) {
    INFO(pattern);
    CHECK(ValidateGlob(pattern).ok());
    CHECK(pattern.starts_with("/ws/"));
  }
}

TEST_CASE("no secret is a system path or below one") {
  for (const std::string& secret : SecretPaths("")) {
    for (const std::string& path : SystemPaths()) {
      INFO(secret << " in " << path);
      CHECK_FALSE(IsWithin(secret, path));
    }
  }
}

TEST_CASE("the baseline names nothing that changes how programs load code") {
  for (const std::string& name : BaselineEnvironment()) {
    CHECK_FALSE(name.starts_with("LD_"));
    CHECK(name != "PATH");
    CHECK(name != "ENV");
  }
}

TEST_CASE("what git would run or read as configuration is protected at any depth") {
  for (const char* path :
       {"/ws/.git/hooks/pre-commit", "/ws/.git/hooks", "/ws/.git/config",
        "/ws/.git/config.worktree", "/ws/.git/commondir", "/ws/.git/info/attributes",
        "/ws/sub/deep/.git/hooks/x", "/ws/sub/.git/config", "/ws/.git/modules/lib/hooks/x",
        "/ws/.git/modules/a/b/config", "/ws/.git/modules/a/modules/b/info/attributes",
        "/ws/.git/modules/a/worktrees/t/config.worktree", "/ws/.git/worktrees/t/commondir",
        "/ws/.git/worktrees/t/config.worktree", "/ws/.git/modules/.git/config"}) {
    INFO(path);
    CHECK(Protected("/ws", path));
  }
  for (const char* path :
       {"/ws/.git", "/ws/.git/index", "/ws/.git/HEAD", "/ws/.git/info/exclude", "/ws/.git/info",
        "/ws/.git/objects/ab/cd", "/ws/.git/refs/heads/config", "/ws/.git/logs/HEAD",
        "/ws/.git/worktrees/t/HEAD", "/ws/.git/modules/lib/index", "/ws/hooks/x", "/ws/config",
        "/ws/.github/workflows/x", "/other/.git/hooks/x"}) {
    INFO(path);
    CHECK_FALSE(Protected("/ws", path));
  }
}

TEST_CASE("start-up files and settings are protected directly at the root") {
  for (const char* name :
       {".gitmodules", ".bashrc", ".profile", ".zshenv", ".inputrc", ".envrc", ".vscode/tasks.json",
        ".idea", ".claude/settings.json", ".codex", ".cursor", ".mcp.json"}) {
    INFO(name);
    CHECK(Protected("/ws", std::string("/ws/") + name));
    CHECK_FALSE(Protected("/ws", std::string("/ws/sub/") + name));
  }
  CHECK_FALSE(Protected("/ws", "/ws/AGENTS.md"));
  CHECK_FALSE(Protected("/ws", "/ws/CLAUDE.md"));
  CHECK_FALSE(Protected("/ws", "/ws/.gitignore"));
  CHECK(Protected("/", "/.bashrc"));
  CHECK(Protected("/", "/any/.git/config"));
}

TEST_CASE("a root that is a git directory, or lies in one, has its own files protected") {
  CHECK(Protected("/main/.git", "/main/.git/hooks/pre-commit"));
  CHECK(Protected("/main/.git", "/main/.git/config"));
  CHECK(Protected("/main/.git/worktrees/wt", "/main/.git/worktrees/wt/commondir"));
  CHECK(Protected("/main/.git/modules/lib", "/main/.git/modules/lib/hooks/x"));
  CHECK_FALSE(Protected("/main/.git", "/main/.git/index"));
  CHECK_FALSE(Protected("/main/.github", "/main/.github/config"));
}

TEST_CASE("the presets are those of the command line") {
  const ScratchFolder folder;
  folder.MakeFolder("ws");
  folder.MakeFolder("home");
  const std::string inside = folder / "ws/file";
  const auto access = [](const Profile& profile, Axis axis, const std::string& path) {
    return profile.Explain(axis, path).access;
  };

  const Profile read_only = Preset(folder, "read-only");
  CHECK(access(read_only, Axis::kRead, inside) == Access::kAllow);
  CHECK(access(read_only, Axis::kWrite, inside) == Access::kDeny);
  CHECK(read_only.Settings().network == Access::kDeny);
  CHECK(read_only.Settings().command == Access::kAllow);

  const Profile workspace = Preset(folder, "workspace");
  CHECK(access(workspace, Axis::kWrite, inside) == Access::kAllow);
  CHECK(access(workspace, Axis::kWrite, folder / "ws/.git/config") == Access::kDeny);
  CHECK(access(workspace, Axis::kRead, folder / "elsewhere") == Access::kDeny);
  CHECK(workspace.Settings().network == Access::kGated);

  const Profile trusted = Preset(folder, "trusted");
  CHECK(access(trusted, Axis::kRead, folder / "elsewhere") == Access::kAllow);
  CHECK(access(trusted, Axis::kWrite, folder / "elsewhere") == Access::kDeny);
  CHECK(access(trusted, Axis::kWrite, inside) == Access::kAllow);
  CHECK(access(trusted, Axis::kRead, "/etc/shadow") == Access::kDeny);
  CHECK(access(trusted, Axis::kRead, "/etc/ssh/ssh_host_rsa_key") == Access::kDeny);
  CHECK(access(trusted, Axis::kRead, folder / "home/x") == Access::kDeny);

  const absl::Status unknown = PresetConfig("trustd", "/").status();
  CHECK(Is(unknown, ErrorCode::kInvalidProfile));
  CHECK(std::string(unknown.message()).find("read-only, workspace and trusted") !=
        std::string::npos);
}

}  // namespace
}  // namespace cordon
