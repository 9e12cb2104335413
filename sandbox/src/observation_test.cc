// What is listed of the refusals of real commands, and what is not. The commands are python3's,
// which says nothing about them.

#include "observation.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "descriptor_testing.h"
#include "executor_testing.h"
#include "observed_target.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;
using testing::DescriptorGuard;
using testing::SandboxFixture;
using testing::TemporaryFolder;

const Denial* Find(const RunResult& result, const std::string& kind, const std::string& target) {
  const auto found = std::find_if(
      result.denials.begin(), result.denials.end(),
      [&](const Denial& denial) { return denial.kind == kind && denial.target == target; });
  return found == result.denials.end() ? nullptr : &*found;
}

std::string Shown(const RunResult& result) {
  std::string text;
  for (const Denial& denial : result.denials) {
    text += denial.kind + " " + denial.target + " " + std::to_string(denial.count) + ": " +
            denial.reason + "; " + denial.allow_with + "\n";
  }
  return text + result.standard_error.head;
}

const ReportEntry* Entry(const RunResult& result) {
  for (const ReportEntry& entry : result.report.entries) {
    if (entry.feature == "observation") return &entry;
  }
  return nullptr;
}

void Write(const std::string& path, const std::string& text = "text\n") {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// A workspace, and beside it what it may read and what it may not.
struct Ground : SandboxFixture {
  Ground() {
    options.explain_paths = true;
    config.additional_roots = {{readable.path(), Access::kAllow, Access::kDeny}};
  }
  RunResult Python(const std::string& text, const RunOptions& run_options = {}) {
    absl::StatusOr<RunResult> result =
        executor()->RunArgv(workspace(), {"python3", "-c", text}, run_options);
    INFO(result.status().ToString());
    REQUIRE(result.ok());
    INFO(Shown(*result));
    REQUIRE(result->outcome.code == 0);
    return *std::move(result);
  }
  TemporaryFolder readable;
  TemporaryFolder hidden;
};

// Tries each line on its own.
std::string Attempts(const std::vector<std::string>& lines) {
  std::string text = "import os, socket\n";
  for (const std::string& line : lines) {
    text += "try: " + line + "\nexcept OSError: pass\n";
  }
  return text;
}

#define NEED_PYTHON()                                                \
  CORDON_NEED_NAMESPACES();                                          \
  if (std::system("python3 -c 1 >/dev/null 2>&1") != 0) /* NOLINT */ \
  CORDON_SKIP("python3", "there is no python3")

}  // namespace

TEST_CASE("a refused path is listed with its rule and what allows it, though the program hid it",
          "[observation]") {
  NEED_PYTHON();
  const DescriptorGuard guard;
  Ground ground;
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
    const Denial* const denial = Find(result, attempt.kind, attempt.target);
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
  const Denial* const file = Find(changes, "filesystem.write", readable + "/file");
  REQUIRE(file != nullptr);
  CHECK(file->count == 5);
  CHECK(Find(changes, "filesystem.write", readable + "/there") != nullptr);
  CHECK(Find(changes, "filesystem.write", readable + "/there2") != nullptr);
  const Denial* const through_link = Find(changes, "filesystem.read", hidden + "/file");
  REQUIRE(through_link != nullptr);
  CHECK(through_link->count == 2);
  ground.DropSet();
}

TEST_CASE("protected paths are listed, whether the program would change or remove them",
          "[observation]") {
  NEED_PYTHON();
  Ground ground;
  ground.config.protect_paths = true;
  const std::string hook = ground.workspace() + "/.git/hooks/pre-commit";
  Write(ground.workspace() + "/.git/HEAD", "ref: refs/heads/main\n");
  Write(ground.workspace() + "/.git/config");
  Write(hook);
  const RunResult result =
      ground.Python(Attempts({"open('.git/hooks/pre-commit', 'w')", "os.unlink('.git/config')",
                              "os.rename('.git/config', 'x')"}));
  INFO(Shown(result));
  const Denial* const written = Find(result, "filesystem.write", hook);
  REQUIRE(written != nullptr);
  CHECK(written->reason.find("protect_paths") != std::string::npos);
  const Denial* const config =
      Find(result, "filesystem.write", ground.workspace() + "/.git/config");
  REQUIRE(config != nullptr);
  CHECK(config->count == 2);
}

TEST_CASE("an ordinary error of the file system is no refusal, and a look is no attempt",
          "[observation]") {
  NEED_PYTHON();
  Ground ground;
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
  CHECK(Entry(result) == nullptr);
}

TEST_CASE("paths are looked at only when that is asked for", "[observation]") {
  NEED_PYTHON();
  Ground ground;
  ground.options.explain_paths = false;
  Write(ground.hidden / "file");
  CHECK(ground.Python(Attempts({"open('" + (ground.hidden / "file") + "')"})).denials.empty());
}

TEST_CASE("connections to literal addresses are listed with their exact target, always",
          "[observation]") {
  NEED_PYTHON();
  Ground ground;
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
  const Denial* const first = Find(result, "network", "tcp:198.51.100.7:443");
  REQUIRE(first != nullptr);
  CHECK(first->count == 2);
  CHECK(first->allow_with == "--net 198.51.100.7:443");
  CHECK_FALSE(first->reason.empty());
  const Denial* const sixth = Find(result, "network", "tcp:[2001:db8::7]:8443");
  REQUIRE(sixth != nullptr);
  CHECK(sixth->allow_with == "--net [2001:db8::7]:8443");
  CHECK(Find(result, "network", "tcp:203.0.113.9:80") != nullptr);
  CHECK(Find(result, "network", "tcp:198.51.100.8:22") != nullptr);
  CHECK(Find(result, "network", "tcp:198.51.100.9:7") != nullptr);
  CHECK(result.denials.size() == 5);
}

TEST_CASE("what is inside, and what only sorts addresses, is no refused connection",
          "[observation]") {
  NEED_PYTHON();
  Ground ground;
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

  Ground open;
  open.options.explain_paths = false;
  open.config.network = Access::kAllow;
  CHECK(open.Python("import socket\nsocket.socket().connect_ex(('127.0.0.1', 1))").denials.empty());
}

TEST_CASE("a socket of the host is listed with its path", "[observation]") {
  NEED_PYTHON();
  Ground ground;
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
  const Denial* const denial = Find(result, "unix_socket", path);
  REQUIRE(denial != nullptr);
  CHECK(denial->allow_with == "--unix-socket " + path);

  Ground listed;
  listed.config.unix_sockets = {path};
  CHECK(listed.Python("import socket\n" + connect).denials.empty());
}

TEST_CASE("a command that tries ever more targets fills no memory, and what is left out is counted",
          "[observation]") {
  NEED_PYTHON();
  Ground ground;
  const RunResult result = ground.Python(
      "import socket\n"
      "for i in range(1000):\n"
      "  try: socket.create_connection(('198.51.100.7', 1000 + i), 4)\n"
      "  except OSError: pass\n");
  CHECK(result.denials.size() == Refusals::kMaxTargets);
  REQUIRE(Entry(result) != nullptr);
  CHECK(Entry(result)->detail.find(std::to_string(1000 - Refusals::kMaxTargets)) !=
        std::string::npos);
}

TEST_CASE("odd arguments harm nobody and get the kernel's own answer", "[observation]") {
  NEED_PYTHON();
  Ground ground;
  const RunResult result = ground.Python(
      "import ctypes, errno, mmap, os\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "def call(f, *a):\n"
      "  r = f(*a); return ctypes.get_errno() if r < 0 else 0\n"
      "assert call(libc.open, ctypes.c_void_p(0), 0) == errno.EFAULT\n"
      "assert call(libc.open, ctypes.c_void_p(2**64 - 4096), 0) == errno.EFAULT\n"
      "assert call(libc.open, b'/' + b'x' * 9000, 0) == errno.ENAMETOOLONG\n"
      "assert call(libc.open, b'/x' * 2000, 0) == errno.ENOENT\n"
      "assert call(libc.open, b'a/../' * 800 + b'b', 0) == errno.ENOENT\n"
      "assert call(libc.open, b'', 0) == errno.ENOENT\n"
      "assert call(libc.openat, 9999, b'x', 0) == errno.EBADF\n"
      "assert call(libc.connect, 0, ctypes.c_void_p(0), 16) != 0\n"
      "assert call(libc.connect, 9999, b'\\2' * 200, 1 << 30) != 0\n"
      "m = mmap.mmap(-1, 2 * mmap.PAGESIZE)\n"
      "m.write(b'x' * 2 * mmap.PAGESIZE)\n"
      "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
      "libc.munmap(ctypes.c_void_p(at + mmap.PAGESIZE), mmap.PAGESIZE)\n"
      "end = at + mmap.PAGESIZE\n"
      "assert call(libc.open, ctypes.c_void_p(end - 8), 0) == errno.EFAULT\n"
      "ctypes.memmove(end - 2, b'/', 2)\n"
      "assert call(libc.open, ctypes.c_void_p(end - 2), 0) == 0\n"
      "os.symlink('loop2', 'loop1'); os.symlink('loop1', 'loop2')\n"
      "assert call(libc.open, b'loop1', 0) == errno.ELOOP\n"
      "os._exit(0)\n");
  INFO(Shown(result));
  CHECK(result.denials.empty());
}

TEST_CASE("callers that are killed in the middle of a call disturb nobody", "[observation]") {
  NEED_PYTHON();
  const DescriptorGuard guard;
  Ground ground;
  const RunResult result = ground.Python(
      "import os, signal, socket\n"
      "for i in range(100):\n"
      "  pid = os.fork()\n"
      "  if pid == 0:\n"
      "    while True:\n"
      "      socket.socket().connect_ex(('198.51.100.7', 443)); open('/', opener=os.open).close() "
      "if False else os.close(os.open('/', os.O_RDONLY))\n"
      "  os.kill(pid, signal.SIGSTOP if i % 2 else signal.SIGKILL)\n"
      "  os.kill(pid, signal.SIGKILL)\n"
      "  os.waitpid(pid, 0)\n"
      "socket.socket().connect_ex(('198.51.100.7', 80))\n");
  CHECK(Find(result, "network", "tcp:198.51.100.7:80") != nullptr);
  ground.DropSet();
}

TEST_CASE("a flood of calls of one command does not stop another one", "[observation]") {
  NEED_PYTHON();
  Ground ground;
  RunOptions until_stopped;
  std::stop_source stop;
  until_stopped.stop = stop.get_token();
  const std::shared_ptr<Executor> flooding = ground.executor("flood");
  std::thread flood([&] {
    (void)flooding->RunArgv(ground.workspace(),
                            {"python3", "-c",
                             "import os, socket\n"
                             "for i in range(3): os.fork()\n"
                             "while True: socket.socket().connect_ex(('198.51.100.7', 443))\n"},
                            until_stopped);
  });
  RunOptions limited;
  limited.timeout = std::chrono::seconds(20);
  const absl::StatusOr<RunResult> other = ground.executor("other")->RunArgv(
      ground.workspace(),
      {"python3", "-c",
       "import socket\nfor i in range(100): socket.socket().connect_ex(('198.51.100.7', 80))"},
      limited);
  stop.request_stop();
  flood.join();
  REQUIRE(other.ok());
  CHECK(other->outcome.kind == Outcome::Kind::kExited);
  const Denial* const denial = Find(*other, "network", "tcp:198.51.100.7:80");
  REQUIRE(denial != nullptr);
  CHECK(denial->count == 100);
}

TEST_CASE("a program whose calls are observed already runs its commands unobserved, and says so",
          "[observation]") {
  NEED_PYTHON();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(2);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) <
        0) {
      _exit(3);
    }
    Ground ground;
    const RunResult result = ground.Shell(
        "python3 -c 'import socket; socket.socket().connect_ex((\"198.51.100.7\", 1))'");
    const ReportEntry* const entry = Entry(result);
    const bool said =
        entry != nullptr && entry->status == FeatureStatus::kUnenforced && result.denials.empty();
    ground.DropSet();
    _exit(said && result.outcome.code == 0 ? 0 : 4);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("addresses are read as the kernel reads them", "[observation]") {
  const auto parse = [](const auto& address, std::size_t size) {
    return ParseObservedAddress({reinterpret_cast<const char*>(&address), size});
  };
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(443);
  four.sin_addr.s_addr = htonl(0xc6336407);
  CHECK(parse(four, sizeof four).text == "198.51.100.7:443");
  CHECK(parse(four, sizeof four - 1).kind == ObservedAddress::Kind::kNone);
  four.sin_port = 0;
  CHECK(parse(four, sizeof four).kind == ObservedAddress::Kind::kNone);

  sockaddr_un path = {};
  path.sun_family = AF_UNIX;
  const std::string text = "/run/x";
  text.copy(path.sun_path, text.size());
  const std::size_t start = offsetof(sockaddr_un, sun_path);
  CHECK(parse(path, sizeof path).text == text);
  CHECK(parse(path, start + 4).text == "/run");
  CHECK(parse(path, start).kind == ObservedAddress::Kind::kNone);
  CHECK(parse(path, 1).kind == ObservedAddress::Kind::kNone);
  path.sun_path[0] = '\0';
  CHECK(parse(path, sizeof path).kind == ObservedAddress::Kind::kNone);
  CHECK(ParseObservedAddress({}).kind == ObservedAddress::Kind::kNone);
}

}  // namespace cordon::internal
