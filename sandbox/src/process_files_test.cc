#include "process_files.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "descriptor_testing.h"
#include "landlock_testing.h"
#include "output_pump.h"
#include "sandbox_testing.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::OnHostFixture;
using testing::TemporaryFolder;

// A process of the host, which is not the command's.
class Victim {
 public:
  Victim() : pid_(fork()) {
    if (pid_ == 0) {
      execlp("sleep", "sleep", "77.125", nullptr);
      _exit(1);
    }
    // Else the destructor would end every process there is.
    REQUIRE(pid_ > 0);
    // Its execve(2) closes the only writer that is left.
    executed_.writer.Reset();
    REQUIRE(testing::WaitReadable(executed_.reader.get()));
    REQUIRE(ReadCommand().find("77.125") != std::string::npos);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::string ReadCommand() const {
    std::ifstream file(folder() + "/cmdline");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::string folder() const { return "/proc/" + std::to_string(pid_); }

 private:
  Pipe executed_ = MakePipe().value();
  const pid_t pid_;
};

// Defines `tried(path, flags)`: the errno's name, or "opened".
constexpr char kTried[] =
    "import errno, os\n"
    "def tried(path, flags=os.O_RDONLY, **more):\n"
    "  try: os.close(os.open(path, flags, **more))\n"
    "  except OSError as e: return errno.errorcode[e.errno]\n"
    "  return 'opened'\n";

TEST_CASE("the files of a process are public, private or closed, and what is unknown is closed") {
  using Class = ProcessFileClass;
  for (const char* name : {"", "status", "task", "task/12", "task/12/comm", "cmdline"}) {
    CHECK(ClassOfProcessFile(name) == Class::kPublic);
  }
  for (const char* name : {"environ", "maps", "task/1/auxv", "fd", "fdinfo", "fdinfo/3"}) {
    CHECK(ClassOfProcessFile(name) == Class::kPrivate);
  }
  for (const char* name :
       {"mem",         "exe",    "cwd",        "root",      "root/etc", "fd/3",
        "ns",          "ns/net", "net",        "map_files", "task/x",   "task/1/task/1/comm",
        "task/1/root", "attr",   "mounts",     "mountinfo", "pagemap",  "clear_refs",
        "fdinfo/x",    "stack",  "fdinfo/3/x", "status/",   "newer"}) {
    INFO(name);
    CHECK(ClassOfProcessFile(name) == Class::kClosed);
  }
}

TEST_CASE("a command of the landlock tier sees its own processes in /proc") {
  NEED_ON_HOST();
  const DescriptorGuard guard;
  OnHostFixture fixture;
  CHECK(fixture.Python(
            "import os, threading\n"
            "text = open('/proc/self/status').read()\n"
            "print('State:' in text, open('/proc/%d/comm' % os.getpid()).read().strip())\n"
            "print('CapEff:\\t0000000000000000' in text, 'NoNewPrivs:\\t1' in text)\n"
            "r, w = os.pipe()\n"
            "print({str(r), str(w)} <= set(os.listdir('/proc/self/fd')))\n"
            "print(os.listdir('/proc/thread-self/../../self/task') if 0 else "
            "os.listdir('/proc/self/task') == [str(os.getpid())])\n"
            "print(b'PATH=' in open('/proc/self/environ', 'rb').read())\n"
            "print('python3' in open('/proc/self/maps').read())\n"
            "def name(): open('/proc/thread-self/comm', 'w').write('other')\n"
            "t = threading.Thread(target=name); t.start(); t.join()\n"
            "os.chdir('/proc/self'); print(open('stat').read().split()[0] == str(os.getpid()))\n"
            "child = os.fork()\n"
            "if child == 0: os.read(r, 1); os._exit(0)\n"
            "print(b'python3' in open('/proc/%d/cmdline' % child, 'rb').read(), "
            "b'PATH=' in open('/proc/%d/environ' % child, 'rb').read())\n"
            "os.write(w, b'x'); os.wait()\n") ==
        "True python3\nTrue True\nTrue\nTrue\nTrue\nTrue\nTrue\nTrue True");
}

TEST_CASE("whoever lists /proc in the landlock tier sees the processes of its own command") {
  NEED_ON_HOST();
  const DescriptorGuard guard;
  OnHostFixture fixture;
  const Victim victim;
  CHECK(fixture.Python(std::string(kTried) +
                       "r, w = os.pipe()\n"
                       "def ids(): return sorted(int(n) for n in os.listdir('/proc'))\n"
                       "print(ids() == [os.getpid()])\n"
                       "child = os.fork()\n"
                       "if child == 0: os.read(r, 1); os._exit(0)\n"
                       "print(ids() == sorted([os.getpid(), child]))\n"
                       "os.write(w, b'x'); os.wait(); print(ids() == [os.getpid()])\n"
                       // It is a folder like any other that it may not look into or change.
                       "d = os.open('/proc', os.O_RDONLY)\n"
                       "print(tried('..', dir_fd=d), tried('../..', dir_fd=d), "
                       "tried('new', os.O_WRONLY | os.O_CREAT, dir_fd=d))\n"
                       "try: os.mkdir('new', dir_fd=d)\n"
                       "except PermissionError: print('not made')\n"
                       "try: os.rmdir(str(os.getpid()), dir_fd=d)\n"
                       "except PermissionError: print('not removed')\n"
                       "print(tried('/proc', os.O_RDWR), tried('/proc', os.O_PATH))\n") ==
        "True\nTrue\nTrue\nEACCES EACCES EACCES\nnot made\nnot removed\nEISDIR opened");
  CHECK(fixture.Shell("ps -e -o args= | grep -c [7]7.125; test -e " + victim.folder())
            .standard_output.head == "0\n");
}

TEST_CASE("process substitution and the names of standard streams work in the landlock tier") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  if (!testing::Exists("/bin/bash")) CORDON_SKIP("bash", "there is no bash");
  const RunResult result = fixture.Shell(
      "exec bash -c 'cat <(echo one) | cat /dev/stdin; echo two >/dev/stdout; "
      "echo three | tee >(cat >&2) >/dev/null; exec 7<&0; cat /dev/fd/7 </dev/null; wait'");
  CHECK(result.standard_output.head == "one\ntwo\n");
}

TEST_CASE("a command of the landlock tier learns nothing about other processes from /proc") {
  NEED_ON_HOST();
  const DescriptorGuard guard;
  OnHostFixture fixture;
  const Victim victim;
  REQUIRE(victim.ReadCommand().find("77.125") != std::string::npos);
  CHECK(fixture.Python(
            std::string(kTried) +
            "parent = '/proc/%d' % os.getppid()\n"
            "print({tried(p + n) for p in ('" +
            victim.folder() +
            "', '/proc/1', parent) for n in "
            "('', '/cmdline', '/status', '/stat', '/environ', '/fd', '/task', '/maps', '/comm')})\n"
            "d = os.open('" +
            victim.folder() +
            "', os.O_PATH)\n"
            "print(tried('cmdline', dir_fd=d))\n"
            "os.chdir(d); print(tried('cmdline'), tried('./cmdline'))\n"
            "os.symlink('" +
            victim.folder() + "/cmdline', '" + fixture.workspace() +
            "/link')\n"
            "print(tried('" +
            fixture.workspace() +
            "/link'))\n"
            "print(tried('/proc/self/../" +
            victim.folder().substr(6) +
            "/cmdline'))\n"
            "print(tried('/proc/self/task/" +
            victim.folder().substr(6) + "/comm'))\n") ==
        "{'EACCES'}\nEACCES\nEACCES EACCES\nEACCES\nEACCES\nENOENT");
}

TEST_CASE("nothing below /proc leads around the rules of the landlock tier") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  const TemporaryFolder readable;
  const TemporaryFolder hidden;
  fixture.config.additional_roots = {{readable.path(), Access::kAllow, Access::kDeny}};
  std::ofstream(readable / "file") << "text\n";
  std::ofstream(hidden / "file") << "CONFIDENTIAL\n";
  std::ofstream(fixture.workspace() + "/own") << "text\n";
  // A descriptor is opened anew with no more than the rules give for its object.
  CHECK(fixture.Python(std::string(kTried) +
                       "def again(path, flags, first=os.O_RDONLY):\n"
                       "  fd = os.open(path, first)\n"
                       "  return {tried(n % fd, flags) for n in ('/proc/self/fd/%d', '/dev/fd/%d', "
                       "'/proc/thread-self/fd/%d', '/proc/' + str(os.getpid()) + '/fd/%d')}\n"
                       "print(again('own', os.O_RDWR), again('" +
                       (readable / "file") +
                       "', os.O_RDONLY))\n"
                       "print(again('" +
                       (readable / "file") +
                       "', os.O_WRONLY), "
                       "again('" +
                       (readable / "file") +
                       "', os.O_RDWR | os.O_TRUNC))\n"
                       "print(again('" +
                       (hidden / "file") + "', os.O_RDONLY, os.O_PATH))\n") ==
        "{'opened'} {'opened'}\n{'EACCES'} {'EACCES'}\n{'EACCES'}");
  // Nor does a folder that was handed over.
  CHECK(fixture.Python(
            std::string(kTried) +
            "d = os.open('/proc/self', os.O_RDONLY)\n"
            "f = os.open('/proc/self/fd', os.O_RDONLY)\n"
            "r = os.open('" +
            (readable / "file") +
            "', os.O_RDONLY)\n"
            "print({tried(n, dir_fd=d) for n in ('mem', 'clear_refs', 'mountinfo', 'root" +
            (hidden / "file") +
            "', 'attr/current')})\n"
            "print(tried(str(r), dir_fd=f), tried(str(r), os.O_WRONLY, dir_fd=f))\n"
            "print({tried('/proc/self/' + n, m) for m in (os.O_WRONLY, os.O_RDWR) for n in "
            "('oom_score_adj', 'clear_refs', 'coredump_filter', 'mem', 'timerslack_ns', 'uid_map', "
            "'attr/exec', 'sched', 'loginuid')} - {'ENOENT', 'EPERM'})\n"
            "print({tried('/proc/self/' + n) for n in ('mem', 'map_files', 'root', 'pagemap', "
            "'root" +
            (hidden / "file") + "')})\n") == "{'EACCES'}\nopened EACCES\n{'EACCES'}\n{'EACCES'}");
}

TEST_CASE("a path that changes while it is looked at leads to no other process") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  const Victim victim;
  // Two processes share the text: one changes it all the time, the other one opens it.
  const std::string said = fixture.Python(
      "import ctypes, mmap, os, signal\n"
      "m = mmap.mmap(-1, 4096)\n"
      "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
      "own, other = b'/proc/self/cmdline\\0', b'" +
      victim.folder() +
      "/cmdline\\0'\n"
      "ctypes.memmove(at, own, len(own))\n"
      "child = os.fork()\n"
      "if child == 0:\n"
      "  while True: ctypes.memmove(at, other, len(other)); ctypes.memmove(at, own, len(own))\n"
      "libc = ctypes.CDLL(None)\n"
      "own_seen = refused = 0\n"
      "for i in range(4000):\n"
      "  fd = libc.open(ctypes.c_void_p(at), 0)\n"
      "  if fd < 0: refused += 1; continue\n"
      "  text = os.read(fd, 4096); os.close(fd)\n"
      "  if b'77.' + b'125' in text: print('LEAKED'); break\n"
      "  own_seen += 1\n"
      "os.kill(child, signal.SIGKILL); os.wait()\n"
      "print(own_seen > 0, refused > 0)\n");
  CHECK(said == "True True");
}

TEST_CASE("who is in another sandbox inside of this one sees nothing above it") {
  NEED_ON_HOST();
  OnHostFixture fixture;
  CHECK(fixture.Python(
            std::string(kTried) +
            "import ctypes, struct\n"
            "sibling = os.fork()\n"
            "if sibling == 0: os.read(os.pipe()[0], 1)\n"
            "def look(confine):\n"
            "  child = os.fork()\n"
            "  if child: return os.waitpid(child, 0)\n"
            "  if confine:\n"
            "    allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
            "    program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(allow))\n"
            "    assert ctypes.CDLL(None).syscall(317 if os.uname().machine == 'x86_64' else 277, "
            "1, 0, program) == 0\n"
            "  below = os.fork()\n"
            "  if below == 0: os.read(os.pipe()[0], 1)\n"
            "  print([tried('/proc/%s/%s' % (p, n)) for n in ('comm', 'environ') for p in "
            "('self', below, sibling, os.getppid())], flush=True)\n"
            "  os.kill(below, 9); os._exit(0)\n"
            "look(False); look(True)\n"
            "os.kill(sibling, 9)\n") ==
        "['opened', 'opened', 'opened', 'opened', 'opened', 'opened', 'EACCES', 'EACCES']\n"
        "['opened', 'opened', 'EACCES', 'EACCES', 'opened', 'opened', 'EACCES', 'EACCES']");
}

TEST_CASE("a command that may have no more descriptors is told so") {
  NEED_ON_HOST();
  const DescriptorGuard guard;
  OnHostFixture fixture;
  CHECK(fixture.Python(std::string(kTried) +
                       "import resource\n"
                       "resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n"
                       "held = []\n"
                       "try:\n"
                       "  while True: held.append(os.open('/proc/self/stat', os.O_RDONLY))\n"
                       "except OSError as e: print(errno.errorcode[e.errno], len(held) > 4)\n"
                       "os.close(held[0]); print(tried('/proc/self/stat'))\n") ==
        "EMFILE True\nopened");
}

}  // namespace
}  // namespace cordon::internal
