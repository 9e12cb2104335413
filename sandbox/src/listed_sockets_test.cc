#include "listed_sockets.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <string>

#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"
#include "view_testing.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::Ran;
using testing::ViewFixture;

// Answers nothing: whoever can connect has reached it.
UniqueFd Serve(const std::string& path, int type = SOCK_STREAM) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd server(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  REQUIRE(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  if (type == SOCK_STREAM) REQUIRE(listen(server.get(), 64) == 0);
  return server;
}

std::string Ask(const std::string& path) {
  return "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); "
         "print(\"reached\")' '" +
         path + "' 2>/dev/null";
}

bool Reaches(const ViewFixture& fixture, const ProfileConfig& config, const std::string& path) {
  return fixture.RunIn(config, Ask(path)).output == "reached\n";
}

PathPolicy PathsOf(const ViewFixture& fixture) {
  return fixture.MakeProfile(fixture.Config()).paths();
}

}  // namespace

TEST_CASE("a listed path leads to its socket through links that no command can plant",
          "[listed_sockets]") {
  const ViewFixture fixture;
  const std::string socket = fixture.outside + "/real.sock";
  const UniqueFd server = Serve(socket);
  fs::create_directory_symlink(fixture.outside, fixture.home + "/folder");
  fs::create_symlink("folder/real.sock", fixture.home + "/link");
  fs::create_symlink(socket, fixture.workspace + "/planted");
  const PathPolicy paths = PathsOf(fixture);
  CHECK(FindListedSocket(paths, socket).socket == socket);
  CHECK(FindListedSocket(paths, fixture.home + "/link").socket == socket);
  CHECK(FindListedSocket(paths, fixture.home + "/folder/real.sock").socket == socket);

  const ListedSocket planted = FindListedSocket(paths, fixture.workspace + "/planted");
  CHECK(planted.socket.empty());
  CHECK(planted.problem.find("may write") != std::string::npos);
}

TEST_CASE("a listed path without a socket is named as such", "[listed_sockets]") {
  const ViewFixture fixture;
  fixture.Write("outside/file");
  fs::create_symlink("a", fixture.outside + "/b");
  fs::create_symlink("b", fixture.outside + "/a");
  const PathPolicy paths = PathsOf(fixture);
  for (const std::string& path :
       {fixture.outside + "/missing", fixture.outside + "/file", fixture.outside + "/file/below",
        fixture.outside + "/a", std::string("/"), std::string("/dev/log")}) {
    const ListedSocket found = FindListedSocket(paths, path);
    CHECK(found.socket.empty());
    CHECK(found.problem.find("not reachable") != std::string::npos);
  }
}

TEST_CASE("a listed socket is reachable wherever it is, and what is beside it is not",
          "[listed_sockets][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  if (!fixture.WorksOutside("python3 -c 1")) CORDON_SKIP("python3", "there is no python3");
  const std::string place = GENERATE(as<std::string>{}, "outside", "home", "ws");
  const std::string preset = GENERATE(as<std::string>{}, "workspace", "trusted", "read-only");
  CAPTURE(place, preset);
  const std::string folder = fixture.top / place;
  const std::string listed = folder + "/listed.sock";
  const std::string beside = folder + "/beside.sock";
  const UniqueFd servers[] = {Serve(listed), Serve(beside)};
  fs::create_symlink(listed, fixture.home + "/link");

  ProfileConfig config = fixture.Config(preset);
  CHECK(fixture.WorksOutside(Ask(listed) + " && " + Ask(beside)));
  CHECK_FALSE(Reaches(fixture, config, listed));
  config.unix_sockets = {listed};
  CHECK(Reaches(fixture, config, listed));
  CHECK_FALSE(Reaches(fixture, config, beside));
  config.unix_sockets = {fixture.home + "/link"};
  CHECK(Reaches(fixture, config, fixture.home + "/link"));
  CHECK(Reaches(fixture, config, listed));
  CHECK_FALSE(Reaches(fixture, config, beside));
}

TEST_CASE("a command can put nothing else in a listed socket's place", "[listed_sockets][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  if (!fixture.WorksOutside("python3 -c 1")) CORDON_SKIP("python3", "there is no python3");
  fs::create_directory(fixture.workspace + "/run");
  const std::string listed = fixture.workspace + "/run/listed.sock";
  const UniqueFd servers[] = {Serve(listed), Serve(fixture.outside + "/secret.sock")};
  ProfileConfig config = fixture.Config();
  config.unix_sockets = {listed};
  const Ran ran =
      fixture.RunIn(config,
                    "rm -f run/listed.sock; mv run/listed.sock run/x; mv run aside; "
                    "ln -sf " +
                        fixture.outside + "/secret.sock run/listed.sock; " + Ask(listed));
  CHECK(ran.output.find("reached\n") != std::string::npos);
  CHECK(fs::is_socket(fs::symlink_status(listed)));

  // Not what a link leads to either, which some earlier command has planted.
  fs::rename(listed, listed + ".old");
  fs::create_symlink(fixture.outside + "/secret.sock", listed);
  CHECK(fixture.WorksOutside(Ask(listed)));
  CHECK_FALSE(Reaches(fixture, config, listed));
  CHECK_FALSE(Reaches(fixture, config, fixture.outside + "/secret.sock"));
}

TEST_CASE("sockets of the host are not reached through links", "[listed_sockets][live]") {
  NEEDS_NAMESPACES();
  const ViewFixture fixture;
  if (!fixture.WorksOutside("python3 -c 1")) CORDON_SKIP("python3", "there is no python3");
  const std::string secret = fixture.outside + "/secret.sock";
  const UniqueFd server = Serve(secret);
  const std::string through_link = "ln -sf " + secret + " s; ln -sfn " + fixture.outside + " d; " +
                                   Ask("s") + "; " + Ask("d/secret.sock");

  CHECK(fixture.WorksOutside(Ask(secret)));
  for (const char* preset : {"workspace", "trusted"}) {
    ProfileConfig config = fixture.Config(preset);
    config.additional_roots.push_back({fixture.outside, Access::kAllow, Access::kDeny});
    CHECK(fixture.RunIn(config, through_link).output == "");
  }
}

}  // namespace cordon::internal
