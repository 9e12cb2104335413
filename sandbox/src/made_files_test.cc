// What a command of the landlock tier makes in a folder with something hidden in it, where no rule
// of Landlock lets it read that: see NameMediator.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "descriptor_testing.h"
#include "landlock_testing.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::kChangingText;
using testing::OnHostFixture;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

// A workspace with a file and a folder that may be hidden.
struct Workspace : OnHostFixture {
  explicit Workspace(std::vector<std::string> hidden = {"**/.env", "secrets"}) {
    config.deny_read = std::move(hidden);
    for (const char* file : {".env", "secrets/key", "src/.env", "src/main", "lib/main"}) {
      fs::create_directories(fs::path(at(file)).parent_path());
      std::ofstream(at(file)) << "CONFIDENTIAL\n";
    }
    std::ofstream(at("src/main")) << "text\n";
  }
  [[nodiscard]] std::string at(const std::string& path) const { return workspace() + "/" + path; }
};

// `read(path)`: what is in the file, or the errno's name; `names(path)` the same of a folder.
constexpr char kActs[] =
    "import ctypes, errno, fcntl, os, signal\n"
    "def tried(f, *a, **k):\n"
    "  try: return f(*a, **k)\n"
    "  except OSError as e: return errno.errorcode[e.errno]\n"
    "def content(path, flags=0, **k):\n"
    "  d = os.open(path, flags, **k)\n"
    "  try: return os.read(d, 100).decode()\n"
    "  finally: os.close(d)\n"
    "def read(*a, **k): return tried(content, *a, **k)\n"
    "def names(*a): return tried(lambda *a: sorted(os.listdir(*a)), *a)\n"
    "def write(path, text='made'):\n"
    "  with open(path, 'w') as f: f.write(text)\n";

bool SaysThatNothingNewIsExecuted(const RunResult& result) {
  const auto& entries = result.report.entries;
  return std::any_of(entries.begin(), entries.end(), [](const ReportEntry& entry) {
    return entry.feature == "filesystem.execute" &&
           entry.detail.find("it cannot execute, the next command can") != std::string::npos;
  });
}

TEST_CASE("what a command makes beside something hidden it reads in the same run") {
  NEED_ON_HOST();
  const DescriptorGuard guard;
  const std::string hidden = GENERATE("**/.env", "secrets", "none");
  CAPTURE(hidden);
  Workspace workspace({hidden});
  CHECK(workspace.Python(
            std::string(kActs) +
            "write('f'); os.mkdir('d'); os.mkdir('d/e'); write('d/e/g', 'deep')\n"
            "print(read('f'), read('./f'), read(os.getcwd() + '/f'), read('d/../d/e//g'))\n"
            "print(names('d'), names('d/'), names('d/.'), names('d/e/..'), 'f' in names('.'))\n"
            "top, d = os.open('.', os.O_PATH), os.open('d', os.O_DIRECTORY)\n"
            "print(read('f', dir_fd=top), read('e/g', dir_fd=d), names(d))\n"
            "os.chdir('d'); print(read('e/g'), read('../f'), names('.')); os.chdir('..')\n"
            "os.symlink('f', 'l'); os.symlink('../f', 'src/l'); os.symlink('d/e', 'k')\n"
            "print(read('l'), read('src/l'), read('k/g'), names('k/'))\n"
            "os.link('f', 'h'); os.rename('f', 'r'); os.rename('src/main', 'm')\n"
            "print(read('h'), read('r'), read('m').strip(), read('f'))\n"
            "os.rename('d', 'src/d'); os.rename('src/d/e', 'src/d/i')\n"
            "print(read('src/d/i/g'), names('src/d'))\n"
            "os.unlink('m'); write('m', 'again'); print(read('m'))\n"
            "write('src/n', 'n'); os.replace('src/n', 'm'); print(read('m'))\n"
            "import shutil; shutil.copytree('src/d', 'copy'); shutil.rmtree('copy')\n"
            "print(os.path.exists('copy'))\n"
            // In the place of what had a rule.
            "shutil.rmtree('lib'); os.mkdir('lib'); write('lib/z'); print(names('lib'), "
            "read('lib/z'))\n"
            "shutil.rmtree('lib'); os.mkdir('o'); os.rename('o', 'lib'); print(names('lib'))\n"
            "os.rmdir('lib'); write('lib'); print(read('lib'))\n") ==
        "made made made deep\n['e'] ['e'] ['e'] ['e'] True\nmade deep ['e']\ndeep made ['e']\n"
        "made made deep ['g']\nmade made text ENOENT\ndeep ['i']\nagain\nn\nFalse\n['z'] "
        "made\n[]\nmade");
}

TEST_CASE("what a command makes beside something hidden only the next one executes") {
  NEED_ON_HOST();
  const auto makes = "printf '#!/bin/sh\\necho ran\\n' >made; chmod 755 made; cat made; ./made";
  Workspace hiding;
  const RunResult first = hiding.Shell(makes);
  CHECK(first.standard_output.head == "#!/bin/sh\necho ran\n");
  CHECK(first.outcome.code == 126);
  CHECK(SaysThatNothingNewIsExecuted(first));
  CHECK(hiding.Shell("./made").standard_output.head == "ran\n");

  Workspace open({"none"});
  const RunResult both = open.Shell(makes);
  CHECK(both.standard_output.head == "#!/bin/sh\necho ran\nran\n");
  CHECK_FALSE(SaysThatNothingNewIsExecuted(both));
}

TEST_CASE("programs work on what they make beside something hidden") {
  NEED_ON_HOST();
  if (std::system("git --version >/dev/null 2>&1") != 0) CORDON_SKIP("git", "no git");  // NOLINT
  Workspace workspace;
  const RunResult result = workspace.Shell(
      "set -e; git init -q new; cd new; git config user.name x; git config user.email x@y.test; "
      "for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm $i; done; git gc -q; git fsck; "
      "cd ..; git clone -q new copy; tar cf packed copy; mkdir x; tar xf packed -C x; "
      "diff -r copy x/copy; sed -i s/3/4/ copy/f3; cat copy/f3; find x -name 'f?' | sort; "
      "seq 9 | sort -r >n; sort -n n -o n; head -n 1 n; rm -r copy new x; ls");
  INFO(result.standard_error.head);
  CHECK(result.outcome.code == 0);
  CHECK(result.standard_output.head ==
        "4\nx/copy/f1\nx/copy/f2\nx/copy/f3\n1\nlib\nn\npacked\nsecrets\nsrc\n");
}

TEST_CASE("how a file is to be opened for reading counts when that is done for a command") {
  NEED_ON_HOST();
  Workspace workspace;
  CHECK(workspace.Python(
            std::string(kActs) +
            "write('f'); os.mkdir('d'); os.symlink('f', 'l'); os.symlink('d', 'k')\n"
            "def flags(path, wanted):\n"
            "  c = ctypes.CDLL(None).open(path.encode(), wanted)\n"
            "  r = (fcntl.fcntl(c, fcntl.F_GETFD), fcntl.fcntl(c, fcntl.F_GETFL) & "
            "(os.O_ACCMODE | os.O_NONBLOCK | os.O_APPEND | os.O_DIRECTORY))\n"
            "  os.close(c); return r\n"
            "print(flags('f', 0) == (0, 0), flags('f', os.O_CLOEXEC) == (1, 0), "
            "flags('f', os.O_NONBLOCK | os.O_APPEND) == (0, os.O_NONBLOCK | os.O_APPEND), "
            "flags('d', os.O_DIRECTORY | os.O_CLOEXEC) == (1, os.O_DIRECTORY))\n"
            "d = os.open('f', os.O_RDONLY); print(tried(os.write, d, b'x')); os.close(d)\n"
            "print(read('l', os.O_NOFOLLOW), read('f', os.O_DIRECTORY), read('f/'), "
            "tried(os.open, 'k', os.O_NOFOLLOW | os.O_DIRECTORY), read('d'))\n"
            "print(tried(os.open, 'none', os.O_RDONLY), tried(os.open, '', os.O_RDONLY))\n"
            "p = os.open('f', os.O_PATH); print(tried(os.read, p, 1))\n"
            "os.dup2(p, 0); w = os.open('f', os.O_WRONLY)\n"
            "print(*[read(s) for s in ('/proc/self/fd/%d' % p, '/dev/fd/%d' % w, '/dev/stdin', "
            "'/proc/thread-self/fd/%d' % p)], names('/proc/self/fd/%d' % os.open('d', os.O_PATH)), "
            "read('/proc/self/fd/%d' % p, os.O_NOFOLLOW))\n"
            "os.close(p); os.close(w)\n"
            "print(read('f', os.O_TRUNC), read('f') == '')\n"
            "os.chmod('f', 0o200); os.chmod('d', 0o300); print(read('f'), names('d'))\n"
            "os.chmod('d', 0o600); print(read('d/x')); os.chmod('d', 0o500); print(names('d'))\n"
            "import resource; os.chmod('f', 0o600)\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); print(read('f'))\n") ==
        "True True True True\nEBADF\nELOOP ENOTDIR ENOTDIR ENOTDIR EISDIR\nENOENT ENOENT\n"
        "EBADF\nmade made made made [] ELOOP\n True\nEACCES EACCES\nEACCES\n[]\nEMFILE");
}

TEST_CASE("nothing hidden is opened for a command that may read what is new beside it") {
  NEED_ON_HOST();
  Workspace workspace;
  const TemporaryFolder outside;
  std::ofstream(outside / "file") << "CONFIDENTIAL\n";
  fs::create_hard_link(workspace.at(".env"), workspace.at("alias"));
  const std::string out = outside.path();
  CHECK(
      workspace.Python(
          std::string(kActs) + "out = '" + out + "'\n" +
          "os.mkdir('m'); write('m/f')\n"
          "for n, t in (('le', '.env'), ('lk', 'secrets/key'), ('ls', 'secrets'), "
          "('lo', out), ('lf', out + '/file'), ('m/le', '../.env'), ('src/le', '../.env'), "
          "('src/ls', '../secrets'), ('lm', 'm/f')): os.symlink(t, n)\n"
          "ways = ['.env', './/.env', 'm/../.env', 'le', 'm/le', 'src/le', 'secrets/key', 'lk', "
          "'ls/key', 'src/ls/key', 'm/../secrets/key', 'lo/file', 'lf', 'alias', 'src/.env', "
          "os.getcwd() + '/.env', '/proc/self/cwd/.env', '/proc/self/root' + out + '/file', "
          "out + '/file']\n"
          "top = os.open('.', os.O_PATH)\n"
          "held = [os.open(p, os.O_PATH) for p in ('.env', 'secrets/key', out + '/file', 'm/f')]\n"
          "print({read(p, f) for p in ways for f in (0, os.O_NONBLOCK)} | "
          "{read(p, dir_fd=top) for p in ways} | {read('/proc/self/fd/%d' % d) for d in held[:3]} "
          "| {read('/dev/fd/%d' % d) for d in held[:3]})\n"
          "hidden = os.open('secrets', os.O_PATH); print(read('key', dir_fd=hidden))\n"
          "os.chdir('secrets'); print(read('key'), names('.'), read('../m/f')); os.chdir('..')\n"
          "print({names(p) for p in ('secrets', 'ls', 'src/ls', 'secrets/', 'secrets/.', out, "
          "'lo', 'm/../secrets')})\n"
          // With an openat2(2) that says how links are to be followed the call goes on.
          "how = (ctypes.c_uint64 * 3)(0, 0, 8); zero = (ctypes.c_uint64 * 3)(0, 0, 0)\n"
          "def open2(p, h):\n"
          "  d = ctypes.CDLL(None).syscall(437, top, p, h, 24)\n"
          "  return d >= 0 and os.read(d, 100).decode()\n"
          "print([open2(p, h) for p in (b'.env', b'le', b'secrets/key', b'm/f') "
          "for h in (how, zero)])\n"
          "print(read('m/f'), read('lm'), read('f', dir_fd=os.open('m', os.O_PATH)))\n") ==
      "{'EACCES'}\nEACCES\nEACCES EACCES made\n{'EACCES'}\n"
      "[False, False, False, False, False, False, False, 'made']\nmade made made");
}

TEST_CASE("what is hidden gets no name under which it could be read") {
  NEED_ON_HOST();
  Workspace workspace;
  CHECK(workspace.Python(
            std::string(kActs) +
            "os.mkdir('m'); write('m/f'); os.mkdir('src/d')\n"
            "for a in ('.env', 'secrets/key', 'src/.env'):\n"
            "  for b in ('x', 'm/x', 'src/d/x'): tried(os.link, a, b); tried(os.rename, a, b)\n"
            "tried(os.rename, 'secrets', 'x'); tried(os.rename, 'secrets', 'm/x')\n"
            "tried(os.rename, 'src', 'q')\n"
            "print({read(p) for p in ('x', 'm/x', 'src/d/x', 'x/key', 'm/x/key', 'q/.env')})\n"
            // A name that is hidden wherever it comes up is not made, and so not read.
            "print(tried(open, 'm/.env', 'w'), tried(os.rename, 'm/f', 'm/.env'))\n") ==
        "{'ENOENT'}\nEACCES EACCES");
  CHECK(fs::exists(workspace.at(".env")));
  CHECK(fs::exists(workspace.at("secrets/key")));
}

TEST_CASE("another name that something hidden gets meanwhile is not opened for a command") {
  NEED_ON_HOST();
  Workspace workspace;
  // What the host makes while the command runs.
  const std::jthread host([&workspace] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!fs::exists(workspace.at("ready")) && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    fs::create_hard_link(workspace.at(".env"), workspace.at("late"));
    std::ofstream(workspace.at("plain")) << "text";
    fs::create_directory(workspace.at("go"));
  });
  CHECK(workspace.Python(std::string(kActs) +
                         "import time\n"
                         "write('ready'); end = time.monotonic() + 20\n"
                         "while not os.path.exists('go') and time.monotonic() < end: "
                         "time.sleep(0.01)\n"
                         "os.symlink('late', 'l'); os.mkdir('m')\n"
                         "print(read('late'), read('l'), tried(os.rename, 'late', 'm/x'), "
                         "read('plain'))\n") == "EACCES EACCES EACCES text");
}

TEST_CASE("a way that comes and goes leads no reader into what is hidden") {
  NEED_ON_HOST();
  Workspace workspace;
  // One process makes `way` a folder, a link to it and a link to what is hidden by turns.
  CHECK(workspace.Python(
            std::string(kActs) +
            "os.mkdir('folder'); write('folder/key'); os.symlink('secrets', 'link')\n"
            "os.symlink('folder', 'other'); write('file'); os.symlink('.env', 'dot')\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "  while True:\n"
            "    for to in ('folder', 'link', 'other'):\n"
            "      tried(os.rename, to, 'way'); tried(os.rename, 'way', to)\n"
            "    for to in ('file', 'dot'): tried(os.rename, to, 'w'); tried(os.rename, 'w', to)\n"
            "seen = set()\n"
            "for i in range(800): seen |= {read('way/key'), read('w'), str(names('way'))}\n"
            "os.kill(child, signal.SIGKILL); os.wait()\n"
            "print('made' in seen, any('CONF' in s for s in seen))\n") == "True False");
}

TEST_CASE("text that changes while a file is opened for a command opens no other one") {
  NEED_ON_HOST();
  Workspace workspace;
  CHECK(workspace.Python(
            std::string(kActs) + kChangingText +
            "write('made')\n"
            "at, child, kept = changing(b'./////made\\0', b'src/../.env\\0'); seen = set()\n"
            "for i in range(3000):\n"
            "  d = libc.open(ctypes.c_void_p(at), os.O_RDONLY)\n"
            "  if d >= 0: seen.add(os.read(d, 100)); os.close(d)\n"
            "os.kill(child, signal.SIGKILL); os.wait()\n"
            "print(seen)\n") == "{b'made'}");
}

TEST_CASE("a fifo keeps only its own reader waiting beside something hidden") {
  NEED_ON_HOST();
  Workspace workspace;
  REQUIRE(mkfifo(workspace.at("fifo").c_str(), 0600) == 0);
  // What is moved from there into `lib` is below a rule, and still looked at.
  CHECK(workspace.Python(std::string(kActs) +
                         "os.mkdir('d'); os.rename('d', 'lib/d'); os.mkfifo('lib/d/fifo')\n"
                         "child = os.fork()\n"
                         "if child == 0: os._exit(read('lib/d/fifo') != 'x')\n"
                         "write('f'); print([read('f') for i in range(20)] == ['made'] * 20)\n"
                         "d = os.open('lib/d/fifo', os.O_WRONLY); os.write(d, b'x'); os.close(d)\n"
                         "print(os.wait()[1], read('fifo'), read('fifo', os.O_NONBLOCK))\n") ==
        "True\n0 EACCES EACCES");
}

TEST_CASE("for who is in another sandbox inside of this one nothing is read") {
  NEED_ON_HOST();
  Workspace workspace({"secrets"});
  CHECK(workspace.Python(
            std::string(kActs) +
            "import struct\n"
            "write('f'); os.mkdir('d')\n"
            "print(read('f'), names('d'), 'f' in names('.'))\n"
            "allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
            "program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(allow))\n"
            "assert ctypes.CDLL(None).syscall(317 if os.uname().machine == 'x86_64' else 277, "
            "1, 0, program) == 0\n"
            "print(read('f'), names('d'), names('.'))\n") == "made [] True\nEACCES EACCES EACCES");
}

TEST_CASE("nothing is opened or made for a command of root below a folder that is closed to it") {
  NEED_ON_HOST();
  if (geteuid() != 0) CORDON_SKIP("root", "only root has more rights than its commands");
  Workspace workspace({"**/.env"});
  fs::create_directories(workspace.at("a/b"));
  for (const char* file : {"a/.env", "a/b/.env", "a/b/f"}) std::ofstream(workspace.at(file)) << "x";
  const std::string acts =
      std::string(kActs) + "print(read('a/b/f'), tried(write, 'a/b/n'), tried(os.mkdir, 'a/b/m'))";
  CHECK(workspace.Python(acts) == "x None None");
  fs::remove(workspace.at("a/b/n"));
  fs::remove(workspace.at("a/b/m"));
  REQUIRE(chown(workspace.at("a").c_str(), 65534, 65534) == 0);
  REQUIRE(chmod(workspace.at("a").c_str(), 0700) == 0);
  CHECK(workspace.Python(acts) == "EACCES EACCES EACCES");
  REQUIRE(chmod(workspace.at("a").c_str(), 0701) == 0);
  CHECK(workspace.Python(acts) == "x None None");
}

}  // namespace
}  // namespace cordon::internal
