#include "profile_paths.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cordon/sdk/profile.h"
#include "profile_fixture.h"
#include "support/catch.h"

namespace cordon {
namespace {

using test::CheckRefused;
using test::Created;
using test::Host;
using test::kAllow;
using test::kDeny;
using test::kGated;
using test::ReadAt;
using test::ScratchFolder;
using test::WriteAt;

TEST_CASE("a path that the caller cannot look at keeps its spelling") {
  if (geteuid() == 0) CORDON_SKIP("unprivileged", "root can look everywhere");
  const Host host;
  const std::string closed = host.folder.MakeFolder("closed");
  host.folder.MakeLink("closed/link", "/usr");
  ProfileConfig config = host.Config();
  config.deny_read = {closed + "/./link/x"};
  config.host_read = kAllow;
  CHECK(ReadAt(Created(config), "/usr/x") == kDeny);
  REQUIRE(chmod(closed.c_str(), 0) == 0);
  const Profile profile = Created(config);
  REQUIRE(chmod(closed.c_str(), 0700) == 0);
  CHECK(ReadAt(profile, closed + "/link/x") == kDeny);
}

TEST_CASE("the system can be read and executed, its secrets cannot") {
  const Host host;
  const Profile profile = Created(host.Config());
  for (const char* path : {"/usr/bin/env", "/bin/sh", "/lib64/ld.so", "/opt/x", "/etc/passwd",
                           "/etc/ssl/certs/ca.pem", "/etc/resolv.conf"}) {
    INFO(path);
    CHECK(ReadAt(profile, path) == kAllow);
    CHECK(profile.Explain(Axis::kExecute, path).access == kAllow);
    CHECK(profile.Explain(Axis::kRead, path).origin == "system");
    CHECK(WriteAt(profile, path) == kDeny);
  }
  for (const char* path : {"/", "/etc", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/x",
                           "/etc/ssl/private/key", "/etc/ssh/ssh_host_rsa_key", "/var/log/x"}) {
    INFO(path);
    CHECK(ReadAt(profile, path) == kDeny);
    CHECK(profile.Explain(Axis::kExecute, path).access == kDeny);
  }
}

TEST_CASE("an isolated home is hidden even where the host is readable, a workspace in it is not") {
  const Host host;
  ProfileConfig config = host.Config();
  config.host_read = kAllow;
  config.workspace_root = host.folder.MakeFolder("home/project");
  config.additional_roots = {{host.home + "/.ssh/known_hosts", kAllow, kDeny}};
  const Profile profile = Created(config);
  CHECK(ReadAt(profile, host.folder.path()) == kAllow);
  CHECK(ReadAt(profile, host.home) == kDeny);
  CHECK(ReadAt(profile, host.home + "/.ssh/id") == kDeny);
  CHECK(profile.Explain(Axis::kRead, host.home + "/x").origin == "home: isolated");
  CHECK(WriteAt(profile, host.home + "/project/x") == kAllow);
  CHECK(profile.Explain(Axis::kWrite, host.home + "/project/x").origin == "workspace");
  CHECK(ReadAt(profile, host.home + "/.ssh/known_hosts") == kAllow);
}

TEST_CASE("a workspace that is the home is refused while the home is hidden") {
  const Host host;
  ProfileConfig config = host.Config();
  config.workspace_root = host.folder.MakeLink("spelling", "home");
  CheckRefused(config, "home folder");
  config.home = HomeMode::kReal;
  const Profile profile = Created(config);
  CHECK(WriteAt(profile, host.home + "/x") == kAllow);
  CHECK(ReadAt(profile, host.home + "/.ssh/id") == kDeny);
}

TEST_CASE("a workspace that contains the home keeps its own path and the home stays hidden") {
  const Host host;
  ProfileConfig config = host.Config();
  config.workspace_root = host.folder.path();
  const Profile profile = Created(config);
  CHECK(WriteAt(profile, host.folder / "x") == kAllow);
  CHECK(ReadAt(profile, host.home + "/x") == kDeny);
}

TEST_CASE("a real home can be read but for its secrets, and written where the host can") {
  const Host host;
  ProfileConfig config = host.Config();
  config.home = HomeMode::kReal;
  const Profile profile = Created(config);
  CHECK(ReadAt(profile, host.home + "/notes") == kAllow);
  CHECK(WriteAt(profile, host.home + "/notes") == kDeny);
  for (const char* secret : {".ssh/id_rsa", ".aws/credentials", ".netrc", ".git-credentials",
                             ".config/gh/hosts.yml", ".docker/config.json", ".bash_history"}) {
    INFO(secret);
    CHECK(ReadAt(profile, host.home + "/" + secret) == kDeny);
    CHECK(profile.Explain(Axis::kRead, host.home + "/" + secret).origin == "secret");
  }
  config.host_write = kGated;
  CHECK(WriteAt(Created(config), host.home + "/notes") == kGated);
}

TEST_CASE("a secret behind a symbolic link is denied under both names") {
  const Host host;
  const std::string keys = host.folder.MakeFolder("keys");
  host.folder.MakeLink("home/.ssh", keys);
  ProfileConfig config = host.Config();
  config.home = HomeMode::kReal;
  config.host_read = kAllow;
  const Profile profile = Created(config);
  CHECK(ReadAt(profile, host.home + "/.ssh/id") == kDeny);
  CHECK(ReadAt(profile, keys + "/id") == kDeny);
  CHECK(ReadAt(profile, host.folder / "other") == kAllow);
}

TEST_CASE("without home_root the home is HOME, and the home of system users is none") {
  const Host host;
  ProfileConfig config = host.Config();
  config.home_root.clear();
  const char* before = std::getenv("HOME");
  const std::string saved = before != nullptr ? before : "";
  setenv("HOME", host.home.c_str(), 1);
  CHECK(Created(config).Settings().home_root == host.home);
  setenv("HOME", "/", 1);
  config.host_read = kAllow;
  CHECK(ReadAt(Created(config), "/var/x") == kAllow);
  unsetenv("HOME");
  CHECK_FALSE(Created(config).Settings().home_root.empty());
  if (before != nullptr) setenv("HOME", saved.c_str(), 1);
}

TEST_CASE("a literal deny of reading removes writing too, one of writing keeps reading") {
  const Host host;
  ProfileConfig config = host.Config();
  config.host_read = kGated;
  config.deny_read = {"secret", host.workspace + "/keys"};
  config.deny_write = {"vendor", "/var/data", "secret/inner"};
  const Profile profile = Created(config);
  const std::string& ws = host.workspace;
  CHECK(ReadAt(profile, ws + "/secret/x") == kDeny);
  CHECK(WriteAt(profile, ws + "/secret/x") == kDeny);
  CHECK(profile.Explain(Axis::kExecute, ws + "/keys").access == kDeny);
  CHECK(ReadAt(profile, ws + "/vendor/x") == kAllow);
  CHECK(WriteAt(profile, ws + "/vendor/x") == kDeny);
  CHECK(ReadAt(profile, "/var/data/x") == kGated);
  CHECK(ReadAt(profile, ws + "/secret/inner") == kDeny);
  CHECK(WriteAt(profile, ws + "/other") == kAllow);

  const ProfileConfig& settings = profile.Settings();
  CHECK(settings.deny_read.empty());
  CHECK(settings.deny_write.empty());
  CHECK(settings.additional_roots.size() == 5);
}

TEST_CASE("a literal deny narrows a root of the same path, the workspace and the host") {
  const Host host;
  ProfileConfig config = host.Config();
  config.host_read = kAllow;
  config.additional_roots = {{"/data", kAllow, kAllow}, {"/data/deep", kAllow, kAllow}};
  config.deny_write = {"/data", ".", "/"};
  const Profile profile = Created(config);
  CHECK(ReadAt(profile, "/data/x") == kAllow);
  CHECK(WriteAt(profile, "/data/x") == kDeny);
  CHECK(WriteAt(profile, "/data/deep/x") == kAllow);
  CHECK(profile.Settings().workspace_write == kDeny);
  CHECK(profile.Settings().workspace_read == kAllow);
  config.deny_read = {"/"};
  CHECK(Created(config).Settings().host_read == kDeny);
}

TEST_CASE("deny globs start at the workspace and override every allow") {
  const Host host;
  ProfileConfig config = host.Config();
  config.additional_roots = {{host.workspace + "/a.key", kAllow, kAllow}};
  config.deny_read = {"**/*.key", "./sub//*.txt"};
  config.deny_write = {"/data/**/*.lock"};
  const Profile profile = Created(config);
  CHECK(ReadAt(profile, host.workspace + "/a.key") == kDeny);
  CHECK(ReadAt(profile, host.workspace + "/b/c.key/x") == kDeny);
  CHECK(ReadAt(profile, host.workspace + "/sub/x.txt") == kDeny);
  CHECK(ReadAt(profile, host.workspace + "/x.txt") == kAllow);
  CHECK(profile.Settings().deny_read ==
        std::vector<std::string>{host.workspace + "/**/*.key", host.workspace + "/sub/*.txt"});
}

TEST_CASE(
    "the literal part of a deny glob is resolved, a workspace with brackets is taken as text") {
  const ScratchFolder folder;
  const std::string workspace = folder.MakeFolder("[ab] *");
  folder.MakeFolder("a *");
  folder.MakeFolder("data");
  folder.MakeLink("link", "data");
  ProfileConfig config;
  config.workspace_root = workspace;
  config.home_root = folder / "home";
  config.workspace_read = config.workspace_write = config.host_read = config.host_write = kAllow;
  config.deny_read = {"*.key", folder / "link/*.pem"};
  const Profile profile = Created(config);
  CHECK(ReadAt(profile, workspace + "/x.key") == kDeny);
  CHECK(ReadAt(profile, folder / "a */x.key") == kAllow);
  CHECK(ReadAt(profile, folder / "data/x.pem") == kDeny);
  CHECK(WriteAt(profile, workspace + "/.git/hooks/x") == kDeny);
  CHECK(WriteAt(profile, workspace + "/.git/index") == kAllow);
  CHECK(Created(profile.Settings()) == profile);
}

}  // namespace
}  // namespace cordon
