#include "environment.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cordon/sdk/profile.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::TemporaryFolder;

const UserIdentity kUser = {"someone", "/home/someone"};
const EnvironmentPaths kPaths = {"/scratch/home", "/tmp", "/scratch/cache"};

ProfileConfig Workspace(const std::string& path) {
  ProfileConfig config;
  config.workspace_root = path;
  config.workspace_read = Access::kAllow;
  return config;
}

std::vector<std::string> Build(const ProfileConfig& config, const Variables& caller) {
  const absl::StatusOr<Profile> profile = Profile::Create(config);
  REQUIRE(profile.ok());
  return BuildEnvironment(*profile, caller, kUser, kPaths);
}

std::optional<std::string> Value(const std::vector<std::string>& environment,
                                 const std::string& name) {
  std::optional<std::string> value;
  for (const std::string& entry : environment) {
    if (entry.rfind(name + "=", 0) != 0) continue;
    CHECK_FALSE(value.has_value());  // Once.
    value = entry.substr(name.size() + 1);
  }
  return value;
}

TEST_CASE("variables of the caller do not pass, but for the baseline") {
  const TemporaryFolder workspace;
  const Variables caller = {{"AWS_SECRET_ACCESS_KEY", "CANARY"},
                            {"HOME", "/home/CANARY"},
                            {"LD_PRELOAD", "/CANARY.so"},
                            {"BASH_ENV", "/CANARY"},
                            {"GIT_SSH_COMMAND", "CANARY"},
                            {"SSH_AUTH_SOCK", "/CANARY"},
                            {"LC_ALL", "C.UTF-8"},
                            {"TERM", "dumb"},
                            {"TMPDIR", "/CANARY"},
                            {"PATH", "/CANARY/bin"},
                            {"GIT_EDITOR", "CANARY"},
                            {"SHELL", "/CANARY"}};
  const std::vector<std::string> environment = Build(Workspace(workspace.path()), caller);
  for (const std::string& entry : environment) {
    CAPTURE(entry);
    CHECK(entry.find("CANARY") == std::string::npos);
  }
  CHECK(Value(environment, "LC_ALL") == "C.UTF-8");
  CHECK(Value(environment, "TERM") == "dumb");
  CHECK(Value(environment, "HOME") == "/scratch/home");
  CHECK(Value(environment, "TMPDIR") == "/tmp");
  CHECK(Value(environment, "USER") == "someone");
}

TEST_CASE("a variable passes when the profile names it, whatever it may do") {
  const TemporaryFolder workspace;
  ProfileConfig config = Workspace(workspace.path());
  config.environment = {"LD_PRELOAD", "GIVEN=a=b", "EMPTY=", "NOT_SET_BY_THE_CALLER", "PAGER=less"};
  const std::vector<std::string> environment =
      Build(config, {{"LD_PRELOAD", "/lib.so"}, {"GIVEN", "the caller's"}});
  CHECK(Value(environment, "LD_PRELOAD") == "/lib.so");
  CHECK(Value(environment, "GIVEN") == "a=b");
  CHECK(Value(environment, "EMPTY") == "");
  CHECK_FALSE(Value(environment, "NOT_SET_BY_THE_CALLER").has_value());
  CHECK(Value(environment, "PAGER") == "less");
}

TEST_CASE("nothing waits for a person") {
  const TemporaryFolder workspace;
  const std::vector<std::string> environment = Build(Workspace(workspace.path()), {});
  CHECK(Value(environment, "GIT_TERMINAL_PROMPT") == "0");
  CHECK(Value(environment, "PAGER") == "cat");
  CHECK(Value(environment, "EDITOR") == "/bin/false");
  CHECK(Value(environment, "DEBIAN_FRONTEND") == "noninteractive");
}

TEST_CASE("the caller's PATH keeps the folders that commands may execute from, in its order") {
  const TemporaryFolder workspace;
  const TemporaryFolder outside;
  const std::string own = workspace / "bin";
  ProfileConfig config = Workspace(workspace.path());
  const std::vector<std::string> environment = Build(
      config, {{"PATH", own + "::bin:/usr/bin:" + outside.path() + ":/usr/bin:/usr/local/bin"}});
  const std::string path = *Value(environment, "PATH");
  CHECK(path.rfind(own + ":/usr/bin:/usr/local/bin:", 0) == 0);
  CHECK(path.find(outside.path()) == std::string::npos);
  CHECK(path.find("::") == std::string::npos);
  CHECK(std::count(path.begin(), path.end(), ':') >= 3);
}

TEST_CASE("without a PATH of the caller there is the standard one") {
  const TemporaryFolder workspace;
  const std::string path = *Value(Build(Workspace(workspace.path()), {}), "PATH");
  CHECK(path.find("/usr/bin") != std::string::npos);
}

}  // namespace
}  // namespace cordon::internal
