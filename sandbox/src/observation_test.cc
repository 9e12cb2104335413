// What is listed of the refusals of real commands, and what is not.

#include "observation.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "descriptor_testing.h"
#include "observation_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::Attempts;
using testing::DescriptorGuard;
using testing::FindDenial;
using testing::ObservationEntry;
using testing::ObservedGround;
using testing::Shown;
using testing::Write;

TEST_CASE("a refused path is listed with its rule and what allows it, though the program hid it") {
  NEED_PYTHON();
  const DescriptorGuard guard;
  ObservedGround ground;
  const std::string readable = ground.readable.path();
  const std::string hidden = ground.hidden.path();
  const std::string inside = ground.workspace();
  Write(readable + "/file");
  Write(hidden + "/file");
  Write(hidden + "/program", "#!/bin/sh\n");
  fs::permissions(hidden + "/program", fs::perms::owner_all);
  Write(inside + "/secret/key");
  Write(inside + "/a.none");
  ground.config.deny_read = {inside + "/secret", "**/*.none"};
  fs::create_symlink(hidden + "/file", inside + "/link");

  struct Attempt {
    std::string line;
    std::string kind;
    std::string target;
    std::string remedy;
  };
  const std::vector<Attempt> attempts = {
      {"open('" + hidden + "/file')", "filesystem.read", hidden + "/file", "--read"},
      {"open('" + readable + "/file', 'w')", "filesystem.write", readable + "/file", "--write"},
      {"open('" + readable + "/new', 'w')", "filesystem.write", readable + "/new", "--write"},
      {"os.mkdir('" + readable + "/folder')", "filesystem.write", readable + "/folder",
       "--write " + readable},
      {"os.mkdir('" + hidden + "/folder')", "filesystem.write", hidden + "/folder", "--write"},
      {"os.symlink('x', '" + readable + "/link')", "filesystem.write", readable + "/link",
       "--write"},
      {"open('secret/key')", "filesystem.read", inside + "/secret/key", "--read"},
      {"open('a.none')", "filesystem.read", inside + "/a.none", "without --deny-read"},
      {"os.execv('" + hidden + "/program', ['p'])", "filesystem.execute", hidden + "/program",
       "--read"},
      {"os.chdir('" + hidden + "')", "filesystem.read", hidden, "--read"},
  };
  std::vector<std::string> lines;
  for (const Attempt& attempt : attempts) lines.push_back(attempt.line);
  const RunResult result = ground.Python(Attempts(lines));
  INFO(Shown(result));
  for (const Attempt& attempt : attempts) {
    CAPTURE(attempt.line);
    const Denial* const denial = FindDenial(result, attempt.kind, attempt.target);
    REQUIRE(denial != nullptr);
    CHECK(denial->count >= 1);
    CHECK_FALSE(denial->reason.empty());
    CHECK(denial->allow_with.find(attempt.remedy) != std::string::npos);
  }
  CHECK(result.denials.size() == attempts.size());
  CHECK_FALSE(fs::exists(hidden + "/folder"));

  const RunResult changes = ground.Python(Attempts({
      "os.chmod('" + readable + "/file', 0o700)",
      "os.utime('" + readable + "/file')",
      "os.truncate('" + readable + "/file', 0)",
      "os.unlink('" + readable + "/file')",
      "os.rename('" + readable + "/file', 'here')",
      "open('here2', 'w')\nexcept OSError: pass\ntry: os.rename('here2', '" + readable + "/there')",
      "os.link('here2', '" + readable + "/there2')",
      "open('link')",
      "os.open('" + hidden + "/file', os.O_RDONLY, dir_fd=os.open('.', os.O_RDONLY))",
  }));
  INFO(Shown(changes));
  const Denial* const file = FindDenial(changes, "filesystem.write", readable + "/file");
  REQUIRE(file != nullptr);
  CHECK(file->count == 5);
  CHECK(FindDenial(changes, "filesystem.write", readable + "/there") != nullptr);
  CHECK(FindDenial(changes, "filesystem.write", readable + "/there2") != nullptr);
  const Denial* const through_link = FindDenial(changes, "filesystem.read", hidden + "/file");
  REQUIRE(through_link != nullptr);
  CHECK(through_link->count == 2);
  ground.DropSet();
}

TEST_CASE("protected paths are listed, whether the program would change or remove them") {
  NEED_PYTHON();
  ObservedGround ground;
  ground.config.protect_paths = true;
  const std::string hook = ground.workspace() + "/.git/hooks/pre-commit";
  Write(ground.workspace() + "/.git/HEAD", "ref: refs/heads/main\n");
  Write(ground.workspace() + "/.git/config");
  Write(hook);
  const RunResult result =
      ground.Python(Attempts({"open('.git/hooks/pre-commit', 'w')", "os.unlink('.git/config')",
                              "os.rename('.git/config', 'x')"}));
  INFO(Shown(result));
  const Denial* const written = FindDenial(result, "filesystem.write", hook);
  REQUIRE(written != nullptr);
  CHECK(written->reason.find("protect_paths") != std::string::npos);
  const Denial* const config =
      FindDenial(result, "filesystem.write", ground.workspace() + "/.git/config");
  REQUIRE(config != nullptr);
  CHECK(config->count == 2);
}

TEST_CASE("an ordinary error of the file system is no refusal, and a look is no attempt") {
  NEED_PYTHON();
  ObservedGround ground;
  const std::string readable = ground.readable.path();
  const std::string hidden = ground.hidden.path();
  Write(hidden + "/file");
  Write(readable + "/file");
  const RunResult result = ground.Python(Attempts({
      "open('missing')",
      "open('" + readable + "/missing')",
      "open('" + readable + "/file').read()",
      "open('" + hidden + "/missing')",
      "open('" + hidden + "/missing/deeper', 'w')",
      "os.mkdir('" + readable + "')",
      "os.mkdir('/usr')",
      "os.unlink('" + readable + "/missing')",
      "os.stat('" + hidden + "/file')",
      "os.access('" + hidden + "/file', os.R_OK)",
      "os.open('" + hidden + "/file', os.O_PATH)",
      "os.execv('" + hidden + "/file', ['x'])",  // Not executable for anybody.
      "os.execv('" + hidden + "/missing', ['x'])",
      "open('new', 'w').write('x')",
      "os.rename('new', 'newer')",
      "os.chmod('newer', 0o600)",
      "os.open('newer', os.O_CREAT | os.O_EXCL)",
      "os.unlink('newer')",
      "os.makedirs('/tmp/a/b/c')",
      "open('/tmp/a/file', 'w')",
      "open(os.path.expanduser('~/file'), 'w')",
      "open('/dev/null', 'w')",
      "open('/proc/1/environ')",
      "open('/proc/kcore')",
      "os.listdir('/')",
  }));
  INFO(Shown(result));
  CHECK(result.denials.empty());
  CHECK(ObservationEntry(result) == nullptr);
}

TEST_CASE("paths are looked at only when that is asked for") {
  NEED_PYTHON();
  ObservedGround ground;
  ground.options.explain_paths = false;
  Write(ground.hidden / "file");
  CHECK(ground.Python(Attempts({"open('" + (ground.hidden / "file") + "')"})).denials.empty());
}

TEST_CASE("connections to literal addresses are listed with their exact target, always") {
  NEED_PYTHON();
  ObservedGround ground;
  ground.options.explain_paths = GENERATE(false, true);
  const RunResult result = ground.Python(Attempts({
      "socket.create_connection(('198.51.100.7', 443), 4)",
      "socket.create_connection(('198.51.100.7', 443), 4)",
      "socket.create_connection(('2001:db8::7', 8443), 4)",
      "socket.create_connection(('::ffff:203.0.113.9', 80), 4)",
      "s = socket.socket(); s.setblocking(False); s.connect(('198.51.100.8', 22))",
      "socket.socket().sendto(b'x', 0x20000000, ('198.51.100.9', 7))",
  }));
  INFO(Shown(result));
  const Denial* const first = FindDenial(result, "network", "tcp:198.51.100.7:443");
  REQUIRE(first != nullptr);
  CHECK(first->count == 2);
  CHECK(first->allow_with == "--net 198.51.100.7:443");
  CHECK_FALSE(first->reason.empty());
  const Denial* const sixth = FindDenial(result, "network", "tcp:[2001:db8::7]:8443");
  REQUIRE(sixth != nullptr);
  CHECK(sixth->allow_with == "--net [2001:db8::7]:8443");
  CHECK(FindDenial(result, "network", "tcp:203.0.113.9:80") != nullptr);
  CHECK(FindDenial(result, "network", "tcp:198.51.100.8:22") != nullptr);
  CHECK(FindDenial(result, "network", "tcp:198.51.100.9:7") != nullptr);
  CHECK(result.denials.size() == 5);
}

TEST_CASE("what is inside, and what only sorts addresses, is no refused connection") {
  NEED_PYTHON();
  ObservedGround ground;
  const RunResult result = ground.Python(Attempts({
      "socket.create_connection(('127.0.0.1', 1), 4)",
      "socket.create_connection(('127.9.9.9', 1), 4)",
      "socket.create_connection(('::1', 1), 4)",
      "socket.socket().connect(('0.0.0.0', 1))",
      "socket.create_connection(('::ffff:127.0.0.1', 1), 4)",
      "socket.create_connection(('198.18.0.1', 53), 4)",
      "socket.create_connection(('198.19.255.255', 443), 4)",
      "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('198.51.100.7', 443))",
      "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('2001:db8::7', 443))",
      "socket.socket(socket.AF_UNIX).connect('missing')",
      "socket.socket(socket.AF_UNIX).connect('\\0abstract')",
      "a = socket.socket(socket.AF_UNIX); a.bind('own'); a.listen(1); "
      "socket.socket(socket.AF_UNIX).connect('own')",
  }));
  INFO(Shown(result));
  CHECK(result.denials.empty());

  ObservedGround open;
  open.options.explain_paths = false;
  open.config.network = Access::kAllow;
  CHECK(open.Python("import socket\nsocket.socket().connect_ex(('127.0.0.1', 1))").denials.empty());
}

TEST_CASE("a socket of the host is listed with its path") {
  NEED_PYTHON();
  ObservedGround ground;
  ground.options.explain_paths = GENERATE(false, true);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = ground.hidden / "host.sock";
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  REQUIRE(listen(server.get(), 8) == 0);
  const std::string connect = "socket.socket(socket.AF_UNIX).connect('" + path + "')";
  const RunResult result = ground.Python(Attempts({connect}));
  INFO(Shown(result));
  const Denial* const denial = FindDenial(result, "unix_socket", path);
  REQUIRE(denial != nullptr);
  CHECK(denial->allow_with == "--unix-socket " + path);

  ObservedGround listed;
  listed.config.unix_sockets = {path};
  CHECK(listed.Python("import socket\n" + connect).denials.empty());
}

TEST_CASE(
    "a command that tries ever more targets fills no memory, and what is left out is counted") {
  NEED_PYTHON();
  ObservedGround ground;
  const RunResult result = ground.Python(
      "import socket\n"
      "for i in range(1000):\n"
      "  try: socket.create_connection(('198.51.100.7', 1000 + i), 4)\n"
      "  except OSError: pass\n");
  CHECK(result.denials.size() == Refusals::kMaxTargets);
  REQUIRE(ObservationEntry(result) != nullptr);
  CHECK(ObservationEntry(result)->detail.find(std::to_string(1000 - Refusals::kMaxTargets)) !=
        std::string::npos);
}

}  // namespace
}  // namespace cordon::internal
