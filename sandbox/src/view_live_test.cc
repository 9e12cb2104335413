// What a command in a compiled view can and cannot do, tried with real commands.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"
#include "view_testing.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::Contents;
using testing::Ran;
using testing::ViewFixture;

}  // namespace

TEST_CASE("a command works in the workspace and sees nothing else of the user", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("home/.ssh/id", "SECRET");
  fixture.Write("outside/file", "SECRET");
  fixture.Write("ws/in", "inside\n");
  const std::string look = "cat " + fixture.home + "/.ssh/id " + fixture.outside + "/file";
  CHECK(fixture.WorksOutside(look));
  const Ran ran =
      fixture.RunIn(fixture.Config(), look + "; cat in; echo made >out; ls /home; id -u");
  CHECK(ran.output.find("SECRET") == std::string::npos);
  CHECK(ran.output.find("inside") != std::string::npos);
  CHECK(ran.exit_code() == 0);
  CHECK(Contents(fixture.workspace + "/out") == "made\n");
  struct stat status = {};
  REQUIRE(stat((fixture.workspace + "/out").c_str(), &status) == 0);
  CHECK(status.st_uid == geteuid());
}

TEST_CASE("a readable root cannot be changed by any kind of write", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("outside/file", "kept\n");
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{fixture.outside, Access::kAllow, Access::kDeny}};
  const std::string file = fixture.outside + "/file";
  for (const std::string& act :
       {"echo x >" + file, "rm " + file, "mv " + file + " " + file + "2", "chmod 777 " + file,
        "touch " + file, "ln " + file + " " + file + "2", "mkdir " + file + "2"}) {
    CAPTURE(act);
    const ViewFixture control;
    control.Write("outside/file");
    std::string controlled = act;
    for (std::size_t at = 0; (at = controlled.find(fixture.outside, at)) != std::string::npos;) {
      controlled.replace(at, fixture.outside.size(), control.outside);
    }
    CHECK(control.WorksOutside(controlled));
    CHECK(fixture.RunIn(config, "cat " + file + " >/dev/null && ! " + act).exit_code() == 0);
    CHECK(Contents(file) == "kept\n");
  }
}

TEST_CASE("a protected path stays where and as it is", "[view][live]") {
  NEEDS_NAMESPACES();
  for (const std::string act :
       {"echo x >.git/hooks/pre-commit", "mv .git g", "mv .git/hooks h", "rm -rf .git/hooks",
        "mv vendor v", "mv vendor/sub s", "mv vendor/sub/.git g", "ln evil .git/hooks/pre-commit",
        "cp evil c && mv c .git/config",
        "ln -sfn ../evil .git/config && grep -q evil .git/config"}) {
    CAPTURE(act);
    const ViewFixture fixture;
    const auto prepare = [](const ViewFixture& in) {
      in.Write("ws/evil", "evil\n");
      for (const std::string repository : {"ws", "ws/vendor/sub"}) {
        in.Write(repository + "/.git/config", "[core]\n");
        in.Write(repository + "/.git/hooks/x.sample");
        in.Write(repository + "/.git/info/exclude");
      }
    };
    prepare(fixture);
    const ViewFixture control;
    prepare(control);
    CHECK(control.WorksOutside(act));
    const Ran ran =
        fixture.RunIn(fixture.Config(), "{ " + act + "; } 2>/dev/null && echo did || echo refused");
    CHECK(ran.output == "refused\n");
    CHECK(Contents(fixture.workspace + "/.git/config") == "[core]\n");
    CHECK_FALSE(fs::exists(fixture.workspace + "/.git/hooks/pre-commit"));
    CHECK(fs::exists(fixture.workspace + "/vendor/sub/.git/hooks/x.sample"));
  }
}

TEST_CASE("beside protected paths git's own files change freely", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("ws/.git/config", "[core]\n");
  fixture.Write("ws/.git/hooks/x.sample");
  fixture.Write("ws/.git/info/exclude");
  fixture.Write("ws/dir/f");
  const Ran ran = fixture.RunIn(
      fixture.Config(),
      "set -e; echo x >.git/index.lock; mv .git/index.lock .git/index; echo y >>.git/info/exclude;"
      "mkdir .git/refs; ln .git/index dir/hard; mv dir moved; mv moved/f .git/f; echo fine");
  CHECK(ran.output == "fine\n");
  CHECK(fs::hard_link_count(fixture.workspace + "/.git/index") == 2);
}

TEST_CASE("denied files are unreadable under every name, also after a move", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  const std::string secret = fixture.Write("ws/a/.env", "SECRET");
  fixture.Write("ws/plain", "plain");
  fs::create_hard_link(secret, fixture.workspace + "/alias");
  fs::create_symlink("plain", fixture.workspace + "/link.env");
  ProfileConfig config = fixture.Config();
  config.deny_read = {"**/.env", "**/link.env"};
  const std::string look =
      "cat a/.env alias link.env; mv a z; cat z/.env; ln z/.env l; cat l; cp -r z y; cat y/.env";
  const Ran ran = fixture.RunIn(config, look + "; cat plain");
  CHECK(ran.output.find("SECRET") == std::string::npos);
  CHECK(ran.output.find("plain") != std::string::npos);
  CHECK(ran.output.find("link.env: Permission denied") != std::string::npos);
  CHECK(fixture.WorksOutside("grep -q SECRET z/.env && grep -q SECRET alias"));
}

TEST_CASE("an allowed folder in a denied one works, its siblings do not exist", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("ws/secret/key", "SECRET");
  fixture.Write("ws/secret/open/f", "open\n");
  ProfileConfig config = fixture.Config();
  config.deny_read = {fixture.workspace + "/secret"};
  config.additional_roots = {{fixture.workspace + "/secret/open", Access::kAllow, Access::kAllow}};
  const Ran ran = fixture.RunIn(config,
                                "cat secret/open/f; echo new >secret/open/new; cat secret/key;"
                                "echo x >secret/new; mv secret s; ls -A secret");
  CHECK(ran.output.find("SECRET") == std::string::npos);
  CHECK(ran.output.find("open\n") != std::string::npos);
  CHECK(Contents(fixture.workspace + "/secret/open/new") == "new\n");
  CHECK_FALSE(fs::exists(fixture.workspace + "/secret/new"));
  CHECK_FALSE(fs::exists(fixture.workspace + "/s"));
}

TEST_CASE("names that must not exist are gone after the command", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("ws/.git/config", "[core]\n");
  const Ran ran = fixture.RunIn(fixture.Config(),
                                "mkdir .vscode; echo x >.vscode/t; ln -s / .envrc;"
                                "echo ../evil >.git/commondir; echo own >mine");
  CHECK(ran.exit_code() == 0);
  for (const char* name : {"/.vscode", "/.envrc", "/.git/commondir"}) {
    CHECK_FALSE(fs::is_symlink(fs::symlink_status(fixture.workspace + name)));
    CHECK_FALSE(fs::exists(fixture.workspace + name));
  }
  CHECK(Contents(fixture.workspace + "/mine") == "own\n");
}

TEST_CASE("HOME, TMPDIR and the caches are private, writable and run programs", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  const Ran ran =
      fixture.RunIn(fixture.Config(),
                    "set -e; mkdir -p \"$CACHE\"; for d in \"$HOME\" \"$TMPDIR\" \"$CACHE\" "
                    "/var/tmp /dev/shm; do echo x >$d/f; done;"
                    "printf '#!/bin/sh\\necho ran\\n' >$TMPDIR/p; chmod +x $TMPDIR/p; $TMPDIR/p;"
                    "test \"$HOME\" != '" +
                        fixture.home + "'; cat </dev/null >/dev/null; id -un; echo fine");
  CHECK(ran.output.find("ran\n") != std::string::npos);
  CHECK(ran.output.find("fine\n") != std::string::npos);
  CHECK(fs::exists(fixture.scratch().home + "/f"));
  CHECK(fs::is_empty(fixture.home));
}

TEST_CASE("the whole host is readable with the trusted preset, but for home and secrets",
          "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("home/key", "SECRET");
  const Ran ran = fixture.RunIn(fixture.Config("trusted"),
                                "ls /etc /usr >/dev/null && echo host; cat " + fixture.home +
                                    "/key /etc/shadow; echo x >/etc/new; ls -A /run; ls /sys");
  CHECK(ran.output.find("host\n") != std::string::npos);
  CHECK(ran.output.find("SECRET") == std::string::npos);
  CHECK(ran.output.find("root:") == std::string::npos);
  CHECK_FALSE(fs::exists("/etc/new"));
}

TEST_CASE("sockets of the host are covered in every readable place, but for listed ones",
          "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  const auto serve = [](const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(listen(server.get(), 8) == 0);
    return server;
  };
  const std::string listed = fixture.outside + "/listed.sock";
  const UniqueFd servers[] = {serve(listed), serve(fixture.outside + "/secret.sock"),
                              serve(fixture.workspace + "/own.sock")};
  ProfileConfig config = fixture.Config();
  config.additional_roots = {{fixture.outside, Access::kAllow, Access::kDeny}};
  config.unix_sockets = {listed};
  const std::string ask =
      "for s in " + fixture.outside + "/listed.sock " + fixture.outside +
      "/secret.sock own.sock; do python3 -c 'import socket, sys; "
      "socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print(\"reached\", sys.argv[1])' $s "
      "2>/dev/null; done";
  if (!fixture.WorksOutside("python3 -c 1")) CORDON_SKIP("python3", "there is no python3");
  CHECK(fixture.WorksOutside(ask + " | grep -c reached | grep -q 3"));
  CHECK(fixture.RunIn(config, ask).output == "reached " + listed + "\n");

  // A socket that nobody serves any more does not stand in the way of a new one.
  std::filesystem::remove(fixture.workspace + "/own.sock");
  { const UniqueFd left_behind = serve(fixture.workspace + "/left.sock"); }
  CHECK(fixture.RunIn(config, "rm left.sock && echo removed").output == "removed\n");
}

TEST_CASE("a view leaves nothing on the host", "[view][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  fixture.Write("ws/f");
  ProfileConfig config = fixture.Config();
  config.deny_read = {fixture.workspace + "/missing/secret", fixture.home + "/.aws", "**/*.none"};
  config.deny_write = {fixture.workspace + "/absent/file"};
  CHECK(fixture.RunIn(config, "true").exit_code() == 0);
  std::set<std::string> left;
  for (const std::string& folder : {fixture.workspace, fixture.home, fixture.outside}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) left.insert(entry.path());
  }
  CHECK(left == std::set<std::string>{fixture.workspace + "/f"});
}

}  // namespace cordon::internal
