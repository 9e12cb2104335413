// Commands that make looking at their calls hard, and those that cannot be looked at.

#include "observer.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "descriptor_testing.h"
#include "observation_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::FindDenial;
using testing::ObservationEntry;
using testing::ObservedGround;
using testing::Shown;

TEST_CASE("odd arguments harm nobody and get the kernel's own answer") {
  NEED_PYTHON();
  ObservedGround ground;
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

TEST_CASE("callers that are killed in the middle of a call disturb nobody") {
  NEED_PYTHON();
  const DescriptorGuard guard;
  ObservedGround ground;
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
  CHECK(FindDenial(result, "network", "tcp:198.51.100.7:80") != nullptr);
  ground.DropSet();
}

TEST_CASE("a flood of calls of one command does not stop another one") {
  NEED_PYTHON();
  ObservedGround ground;
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
  const Denial* const denial = FindDenial(*other, "network", "tcp:198.51.100.7:80");
  REQUIRE(denial != nullptr);
  CHECK(denial->count == 100);
}

TEST_CASE("a program whose calls are observed already runs its commands unobserved, and says so") {
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
    ObservedGround ground;
    const RunResult result = ground.Shell(
        "python3 -c 'import socket; socket.socket().connect_ex((\"198.51.100.7\", 1))'");
    const ReportEntry* const entry = ObservationEntry(result);
    const bool said =
        entry != nullptr && entry->status == FeatureStatus::kUnenforced && result.denials.empty();
    ground.DropSet();
    _exit(said && result.outcome.code == 0 ? 0 : 4);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace cordon::internal
