// Which calls the observer's filter hands over.

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/socket.h>

#include <iterator>
#include <string>

#include "observed_calls.h"
#include "seccomp_testing.h"
#include "support/catch.h"
#include "syscall_policy.h"

namespace cordon::internal::testing {
namespace {

TEST_CASE("the observer's filter hands over its calls and allows everything else", "[seccomp]") {
  const std::uint32_t architecture =
      GENERATE(from_range(std::begin(kArchitectures), std::end(kArchitectures)));
  const bool paths = GENERATE(false, true);
  const std::string program = BuildObserverProgram(architecture, {true, paths});
  const auto decide = [&](std::uint32_t as, int number, std::uint64_t third = 0) {
    seccomp_data data = {};
    data.arch = as;
    data.nr = number;
    data.args[3] = third;
    return Interpret(program, data);
  };
  const auto call = [&](const char* name, std::uint64_t third = 0) {
    return decide(architecture, CallNumber(name, architecture), third);
  };
  const std::uint32_t with_paths = paths ? SECCOMP_RET_USER_NOTIF : kAllow;
  CHECK(call("connect") == SECCOMP_RET_USER_NOTIF);
  CHECK(call("sendto") == kAllow);
  CHECK(call("sendto", MSG_FASTOPEN | MSG_NOSIGNAL) == SECCOMP_RET_USER_NOTIF);
  for (const char* name : {"openat", "openat2", "mkdirat", "renameat2", "execve", "chdir"}) {
    CAPTURE(name);
    CHECK(call(name) == with_paths);
  }
  for (const char* name : {"read", "sendmsg", "newfstatat", "faccessat", "close", "exit_group"}) {
    CAPTURE(name);
    CHECK(call(name) == kAllow);
  }
  CHECK(decide(AUDIT_ARCH_I386, CallNumber("connect", architecture)) == kAllow);
  CHECK(BuildObserverProgram(architecture, {}).empty());
}

// Its listener may be served only once it is known that the command runs (launcher/command.cc).
TEST_CASE("the calls of a waiting sandbox before it executes its command are not handed over") {
  const std::uint32_t architecture =
      GENERATE(from_range(std::begin(kArchitectures), std::end(kArchitectures)));
  ObservedScope all;
  all.connects = all.metadata = all.names = all.reads = all.unix_sockets = all.forks = true;
  const std::string program = BuildObserverProgram(architecture, all);
  for (const char* name : {"ppoll", "recvmsg", "sendmsg", "futex", "clock_gettime", "dup3", "fcntl",
                           "close", "close_range", "mmap", "munmap", "setsid", "ioctl", "umask",
                           "chdir", "prlimit64", "rt_sigprocmask", "execve", "exit_group"}) {
    CAPTURE(name);
    seccomp_data data = {};
    data.arch = architecture;
    data.nr = CallNumber(name, architecture);
    REQUIRE(data.nr >= 0);
    CHECK(Interpret(program, data) == kAllow);
  }
}

TEST_CASE("reading by an open folder is handed over where files are opened for a command alone") {
  const bool reads = GENERATE(false, true);
  for (const std::uint32_t architecture : kArchitectures) {
    ObservedScope scope;
    scope.names = true;
    scope.reads = reads;
    const std::string program = BuildObserverProgram(architecture, scope);
    const auto open = [&](std::uint64_t folder, std::uint64_t flags) {
      seccomp_data data = {};
      data.arch = architecture;
      data.nr = CallNumber("openat", architecture);
      data.args[0] = folder;
      data.args[2] = flags;
      return Interpret(program, data);
    };
    CHECK(open(7, O_RDONLY) == (reads ? SECCOMP_RET_USER_NOTIF : kAllow));
    CHECK(open(7, O_WRONLY) == SECCOMP_RET_USER_NOTIF);
    CHECK(open(static_cast<std::uint32_t>(AT_FDCWD), O_RDONLY) == SECCOMP_RET_USER_NOTIF);
  }
}

}  // namespace
}  // namespace cordon::internal::testing
