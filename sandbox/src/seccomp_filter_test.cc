#include "seccomp_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "observed_calls.h"
#include "support/catch.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

constexpr std::uint32_t kArchitectures[] = {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64};
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t Errno(int number) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number);
}

// Runs the instructions that the writer uses, as the kernel would.
std::uint32_t Interpret(const std::string& bytes, const seccomp_data& data) {
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  std::memcpy(program.data(), bytes.data(), bytes.size());
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& now = program[at];
    switch (now.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        REQUIRE(now.k + sizeof(accumulator) <= sizeof(data));
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + now.k,
                    sizeof(accumulator));
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= now.k;
        break;
      case BPF_JMP | BPF_JA:
        at += now.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == now.k ? now.jt : now.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += accumulator >= now.k ? now.jt : now.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (accumulator & now.k) != 0 ? now.jt : now.jf;
        break;
      case BPF_RET | BPF_K:
        return now.k;
      default:
        FAIL("instruction " << now.code << " at " << at);
    }
  }
  FAIL("ran off the end");
  return 0;
}

class Filter {
 public:
  explicit Filter(std::uint32_t architecture, const FilterUse& use = {})
      : architecture_(architecture) {
    absl::StatusOr<std::string> program = BuildSeccompProgram(architecture, use);
    REQUIRE(program.ok());
    program_ = *program;
  }

  [[nodiscard]] std::uint32_t Decide(int number, std::vector<std::uint64_t> arguments = {}) const {
    return DecideAs(architecture_, number, arguments);
  }
  [[nodiscard]] std::uint32_t Decide(const char* name,
                                     std::vector<std::uint64_t> arguments = {}) const {
    const int number = CallNumber(name, architecture_);
    REQUIRE(number >= 0);
    return Decide(number, arguments);
  }
  [[nodiscard]] std::uint32_t DecideAs(std::uint32_t architecture, int number,
                                       const std::vector<std::uint64_t>& arguments = {}) const {
    seccomp_data data = {};
    data.arch = architecture;
    data.nr = number;
    for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
    return Interpret(program_, data);
  }
  [[nodiscard]] std::size_t length() const { return program_.size() / sizeof(sock_filter); }

 private:
  std::uint32_t architecture_;
  std::string program_;
};

std::string NameOf(std::uint32_t architecture, int number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      seccomp_syscall_resolve_num_arch(architecture, number), &std::free);
  return name == nullptr ? "" : name.get();
}

constexpr int kBeyondAllCalls = 1024;

TEST_CASE("every system call that libseccomp knows is in exactly one list") {
  std::map<std::string, int> listed;
  for (const char* name : AllowedCalls()) ++listed[name];
  for (const RefusedCall& call : RefusedCalls()) ++listed[call.name];
  for (const CheckedCall& call : CheckedCalls()) ++listed[call.name];
  for (const auto& [name, times] : listed) {
    INFO(name);
    CHECK(times == 1);
    CHECK((CallNumber(name.c_str(), SCMP_ARCH_X86_64) >= 0 ||
           CallNumber(name.c_str(), SCMP_ARCH_AARCH64) >= 0));
  }
  for (const std::uint32_t architecture : kArchitectures) {
    for (int number = 0; number < kBeyondAllCalls; ++number) {
      const std::string name = NameOf(architecture, number);
      INFO(name);
      CHECK((name.empty() || listed.count(name) == 1));
    }
  }
}

TEST_CASE("each number gets the verdict of the list that names it, and ENOSYS otherwise") {
  for (const std::uint32_t architecture : kArchitectures) {
    const Filter filter(architecture);
    std::map<int, std::uint32_t> wanted;
    std::vector<int> checked;
    for (const char* name : AllowedCalls()) wanted[CallNumber(name, architecture)] = kAllow;
    for (const RefusedCall& call : RefusedCalls()) {
      wanted[CallNumber(call.name, architecture)] = Errno(call.error_number);
    }
    for (const CheckedCall& call : CheckedCalls()) {
      checked.push_back(CallNumber(call.name, architecture));
    }
    for (int number = 0; number < kBeyondAllCalls; ++number) {
      if (std::find(checked.begin(), checked.end(), number) != checked.end()) continue;
      INFO(NameOf(architecture, number) << " " << number);
      const auto known = wanted.find(number);
      CHECK(filter.Decide(number) == (known == wanted.end() ? Errno(ENOSYS) : known->second));
    }
  }
}

TEST_CASE("system calls of another ABI kill the process") {
  const Filter x86(SCMP_ARCH_X86_64);
  CHECK(x86.DecideAs(SCMP_ARCH_X86_64, CallNumber("getpid", SCMP_ARCH_X86_64)) == kAllow);
  CHECK(x86.DecideAs(SCMP_ARCH_X86, 20) == kKill);
  CHECK(x86.Decide(0x40000000 | CallNumber("getpid", SCMP_ARCH_X86_64)) == kKill);
  CHECK(x86.Decide(0x40000000 | 512) == kKill);
  CHECK(x86.Decide(-1) == Errno(ENOSYS));
  const Filter arm(SCMP_ARCH_AARCH64);
  CHECK(arm.DecideAs(SCMP_ARCH_AARCH64, CallNumber("getpid", SCMP_ARCH_AARCH64)) == kAllow);
  CHECK(arm.DecideAs(SCMP_ARCH_ARM, 20) == kKill);
  CHECK(arm.DecideAs(SCMP_ARCH_X86_64, 39) == kKill);
}

TEST_CASE("sockets are unix, TCP and UDP over IP, and route netlink") {
  constexpr int kMptcp = 262;
  constexpr int kSctp = 132;
  constexpr std::uint64_t kHighBits = std::uint64_t{0xffffffff} << 32;
  for (const std::uint32_t architecture : kArchitectures) {
    const Filter filter(architecture);
    const auto socket = [&filter](std::uint64_t family, std::uint64_t type,
                                  std::uint64_t protocol) {
      return filter.Decide("socket", {family, type, protocol});
    };
    CHECK(socket(AF_UNIX, SOCK_STREAM, 0) == kAllow);
    CHECK(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) == kAllow);
    for (const int family : {AF_INET, AF_INET6}) {
      CHECK(socket(family, SOCK_STREAM, 0) == kAllow);
      CHECK(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 6) == kAllow);
      CHECK(socket(family, SOCK_DGRAM, 17) == kAllow);
      CHECK(socket(kHighBits | family, SOCK_DGRAM, 0) == kAllow);
      CHECK(socket(family, SOCK_RAW, 1) == Errno(EPERM));
      CHECK(socket(family, SOCK_RAW | SOCK_CLOEXEC, 255) == Errno(EPERM));
      CHECK(socket(family, SOCK_SEQPACKET, kSctp) == Errno(EPERM));
      CHECK(socket(family, SOCK_STREAM, kSctp) == Errno(EPROTONOSUPPORT));
      CHECK(socket(family, SOCK_STREAM, kMptcp) == Errno(EPROTONOSUPPORT));
      CHECK(socket(family, SOCK_STREAM, kHighBits | kMptcp) == Errno(EPROTONOSUPPORT));
    }
    CHECK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) == kAllow);
    for (const int protocol : {4, 9, 15, 16}) {
      CHECK(socket(AF_NETLINK, SOCK_RAW, protocol) == Errno(EPROTONOSUPPORT));
    }
    for (const int family : {AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH, AF_XDP, AF_TIPC, AF_KEY}) {
      CHECK(socket(family, SOCK_RAW, 0) == Errno(EAFNOSUPPORT));
      CHECK(socket(family, SOCK_STREAM, 0) == Errno(EAFNOSUPPORT));
    }
    CHECK(filter.Decide("socketpair", {AF_UNIX, SOCK_STREAM, 0}) == kAllow);
    CHECK(filter.Decide("socketpair", {AF_TIPC, SOCK_STREAM, 0}) == Errno(EAFNOSUPPORT));
  }
}

TEST_CASE("no new namespace, by any of the calls that make one") {
  constexpr std::uint64_t kKinds[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                      CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
  for (const std::uint32_t architecture : kArchitectures) {
    const Filter filter(architecture);
    for (const std::uint64_t kind : kKinds) {
      CHECK(filter.Decide("clone", {kind | 17}) == Errno(EPERM));
      CHECK(filter.Decide("unshare", {kind}) == Errno(EPERM));
    }
    CHECK(filter.Decide("unshare", {0x80}) == Errno(EPERM));  // CLONE_NEWTIME
    CHECK(filter.Decide("unshare", {CLONE_FILES | CLONE_FS}) == kAllow);
    CHECK(filter.Decide("clone", {17}) == kAllow);
    CHECK(filter.Decide("clone", {CLONE_VM | CLONE_VFORK | 17}) == kAllow);
    constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                      CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    CHECK(filter.Decide("clone", {kThread}) == kAllow);
    CHECK(filter.Decide("clone3", {}) == Errno(ENOSYS));
    CHECK(filter.Decide("setns", {}) == Errno(EPERM));
  }
}

TEST_CASE("a debugger's calls and nested namespaces are open only where the profile says so") {
  for (const std::uint32_t architecture : kArchitectures) {
    FilterUse use;
    use.tracing = true;
    const Filter traced(architecture, use);
    for (const char* name : TracingCalls()) {
      INFO(name);
      CHECK(Filter(architecture).Decide(name) == Errno(EPERM));
      CHECK(traced.Decide(name) == kAllow);
    }
    CHECK(traced.Decide("pidfd_getfd") == Errno(EPERM));
    CHECK(traced.Decide("kcmp") == Errno(EPERM));
    CHECK(traced.Decide("unshare", {CLONE_NEWUSER}) == Errno(EPERM));

    use.tracing = false;
    use.nested_namespaces = true;
    const Filter nested(architecture, use);
    for (const std::uint64_t kind : {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC}) {
      CHECK(nested.Decide("clone", {kind | 17}) == kAllow);
      CHECK(nested.Decide("unshare", {kind}) == kAllow);
    }
    for (const std::uint64_t kind : {CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
      CHECK(nested.Decide("clone", {kind | CLONE_NEWUSER | 17}) == Errno(EPERM));
      CHECK(nested.Decide("unshare", {kind | CLONE_NEWUSER}) == Errno(EPERM));
    }
    CHECK(nested.Decide("unshare", {0x80}) == Errno(EPERM));
    CHECK(nested.Decide("chroot") == kAllow);
    CHECK(nested.Decide("clone3") == Errno(ENOSYS));
    for (const char* name :
         {"mount", "umount2", "pivot_root", "setns", "open_tree", "move_mount", "fsopen",
          "mount_setattr", "open_by_handle_at", "ptrace", "keyctl", "add_key", "request_key"}) {
      INFO(name);
      CHECK(nested.Decide(name) == Errno(EPERM));
    }

    use.tracing = use.on_host = true;
    const Filter host(architecture, use);
    CHECK(host.Decide("ptrace") == Errno(EPERM));
    CHECK(host.Decide("unshare", {CLONE_NEWUSER}) == Errno(EPERM));
    CHECK(host.Decide("chroot") == Errno(EPERM));
  }
}

TEST_CASE("nothing types into a terminal, whatever the upper half of the request says") {
  for (const std::uint32_t architecture : kArchitectures) {
    const Filter filter(architecture);
    for (const std::uint64_t high : {0x0ull, 0x1ull << 32, 0xffffffffull << 32}) {
      CHECK(filter.Decide("ioctl", {0, high | TIOCSTI}) == Errno(EPERM));
      CHECK(filter.Decide("ioctl", {0, high | TIOCLINUX}) == Errno(EPERM));
      CHECK(filter.Decide("ioctl", {0, high | TIOCGWINSZ}) == kAllow);
      CHECK(filter.Decide("ioctl", {0, high | TCGETS}) == kAllow);
    }
  }
}

TEST_CASE("personality may switch off randomisation but not make data executable") {
  for (const std::uint32_t architecture : kArchitectures) {
    const Filter filter(architecture);
    for (const std::uint64_t value : {0x0u, 0xffffffffu, 0x40000u, 0x8u}) {
      CHECK(filter.Decide("personality", {value}) == kAllow);
    }
    for (const std::uint64_t value : {0x400000u, 0x440000u, 0x100000u}) {
      CHECK(filter.Decide("personality", {value}) == Errno(EPERM));
    }
  }
}

TEST_CASE("the filter is short, because each spawn pays for its length") {
  for (const std::uint32_t architecture : kArchitectures) {
    const Filter filter(architecture);
    INFO(filter.length());
    CHECK(filter.length() < 250);
  }
}

TEST_CASE("there is no filter for an architecture that nobody tested") {
  CHECK_FALSE(BuildSeccompProgram(SCMP_ARCH_RISCV64).ok());
}

}  // namespace
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
TEST_CASE("nothing that a waiting sandbox does before it executes its command is handed over") {
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

TEST_CASE("on the host's own ground the filter closes what Landlock does not cover") {
  constexpr std::uint64_t kPid = 1234;
  for (const std::uint32_t architecture : kArchitectures) {
    FilterUse use;
    use.on_host = true;
    const Filter filter(architecture, use);
    for (const RefusedCall& call : RefusedOnHost()) {
      if (CallNumber(call.name, architecture) < 0) continue;
      INFO(call.name);
      CHECK(filter.Decide(call.name) == Errno(call.error_number));
    }
    for (const char* name : MetadataCalls()) {
      if (CallNumber(name, architecture) >= 0) CHECK(filter.Decide(name) == Errno(EPERM));
    }
    for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK}) {
      CHECK(filter.Decide("socket", {static_cast<std::uint64_t>(family), SOCK_STREAM, 0}) ==
            Errno(EACCES));
    }
    CHECK(filter.Decide("socketpair", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}) == kAllow);
    CHECK(filter.Decide("socketpair", {AF_UNIX, SOCK_SEQPACKET, 0}) == kAllow);
    // A datagram socket can be given another address, connected or not.
    CHECK(filter.Decide("socketpair", {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0}) == Errno(EACCES));
    CHECK(filter.Decide("socketpair", {AF_UNIX, SOCK_RAW, 0}) == Errno(EACCES));  // The same.
    CHECK(filter.Decide("prlimit64", {0, 7}) == kAllow);
    CHECK(filter.Decide("prlimit64", {kPid, 7}) == Errno(EPERM));
    CHECK(filter.Decide("sched_setaffinity", {0}) == kAllow);
    CHECK(filter.Decide("sched_setaffinity", {kPid}) == Errno(EPERM));
    CHECK(filter.Decide("setpriority", {0, 0, 5}) == kAllow);
    CHECK(filter.Decide("setpriority", {0, kPid, 5}) == Errno(EPERM));
    CHECK(filter.Decide("setpriority", {2, 0, 5}) == Errno(EPERM));
    CHECK(filter.Decide("ioprio_set", {1, 0}) == kAllow);
    CHECK(filter.Decide("ioprio_set", {3, 0}) == Errno(EPERM));
    constexpr std::uint64_t kSetFlags = 0x40086602;  // FS_IOC_SETFLAGS
    constexpr std::uint64_t kGetFlags = 0x80086601;
    constexpr std::uint64_t kClone = 0x40049409;         // FICLONE
    constexpr std::uint64_t kNewSubvolume = 0x5000940e;  // BTRFS_IOC_SUBVOL_CREATE
    CHECK(filter.Decide("ioctl", {3, kSetFlags}) == Errno(ENOTTY));
    CHECK(filter.Decide("ioctl", {3, kSetFlags | (std::uint64_t{1} << 40U)}) == Errno(ENOTTY));
    CHECK(filter.Decide("ioctl", {3, kNewSubvolume}) == Errno(ENOTTY));
    CHECK(filter.Decide("ioctl", {3, kGetFlags}) == kAllow);
    CHECK(filter.Decide("ioctl", {3, kClone}) == kAllow);
    CHECK(filter.Decide("ioctl", {3, TIOCGWINSZ}) == kAllow);
    CHECK(filter.Decide("ioctl", {3, TIOCSTI}) == Errno(EPERM));
    CHECK(filter.Decide("ptrace") == Errno(EPERM));
    CHECK(filter.Decide("openat") == kAllow);

    use.network = true;
    const Filter open(architecture, use);
    CHECK(open.Decide("socket", {AF_INET, SOCK_STREAM, 0}) == kAllow);
    CHECK(open.Decide("socket", {AF_INET6, SOCK_DGRAM, 0}) == kAllow);
    CHECK(open.Decide("socket", {AF_UNIX, SOCK_STREAM, 0}) == Errno(EACCES));
    CHECK(open.Decide("socket", {AF_VSOCK, SOCK_STREAM, 0}) == Errno(EAFNOSUPPORT));
    CHECK(open.Decide("ioctl", {3, SIOCGIFCONF}) == kAllow);
  }
}

TEST_CASE("where connections are led the filter leaves nothing but TCP and connect(2)") {
  for (const std::uint32_t architecture : kArchitectures) {
    FilterUse use;
    use.on_host = true;
    use.led_connections = true;
    const Filter filter(architecture, use);
    for (const std::uint64_t family : {AF_INET, AF_INET6}) {
      CHECK(filter.Decide("socket", {family, SOCK_STREAM | SOCK_CLOEXEC, 0}) == kAllow);
      CHECK(filter.Decide("socket", {family, SOCK_STREAM, IPPROTO_TCP}) == kAllow);
      constexpr std::uint64_t kMultipath = 262;  // IPPROTO_MPTCP, which Landlock does not see
      for (const std::uint64_t protocol : {kMultipath, std::uint64_t{132}, std::uint64_t{256}}) {
        CHECK(filter.Decide("socket", {family, SOCK_STREAM, protocol}) == Errno(EPROTONOSUPPORT));
      }
      for (const std::uint64_t type : {SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_DCCP}) {
        CHECK(filter.Decide("socket", {family, type, 0}) == Errno(EACCES));
      }
    }
    for (const std::uint64_t family : {AF_UNIX, AF_NETLINK, AF_VSOCK, AF_PACKET, 43 /* SMC */}) {
      CHECK(filter.Decide("socket", {family, SOCK_STREAM, 0}) == Errno(EACCES));
    }
    CHECK(filter.Decide("connect") == kAllow);
    CHECK(filter.Decide("bind") == Errno(EACCES));
    CHECK(filter.Decide("listen") == Errno(EACCES));
    CHECK(filter.Decide("sendto", {3, 0, 0, MSG_NOSIGNAL}) == kAllow);
    CHECK(filter.Decide("sendto", {3, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL}) == Errno(EPERM));
    CHECK(filter.Decide("sendmsg", {3, 0, MSG_NOSIGNAL}) == kAllow);
    CHECK(filter.Decide("sendmsg", {3, 0, MSG_FASTOPEN}) == Errno(EPERM));
    CHECK(filter.Decide("sendmmsg", {3, 0, 1, MSG_FASTOPEN}) == Errno(EPERM));
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_TCP, TCP_NODELAY}) == kAllow);
    CHECK(filter.Decide("setsockopt", {3, SOL_SOCKET, TCP_ULP}) == kAllow);
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_TCP, TCP_ULP}) == Errno(EPERM));
    // What leads packets past the address of the connection.
    CHECK(filter.Decide("setsockopt", {3, SOL_SOCKET, SO_KEEPALIVE}) == kAllow);
    CHECK(filter.Decide("setsockopt", {3, SOL_SOCKET, SO_BINDTODEVICE}) == Errno(EPERM));
    CHECK(filter.Decide("setsockopt", {3, SOL_SOCKET, SO_BINDTOIFINDEX}) == Errno(EPERM));
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_IP, IP_TOS}) == kAllow);
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_IP, IP_OPTIONS}) == Errno(EPERM));
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_IP, IP_ADD_MEMBERSHIP}) == Errno(EPERM));
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_IPV6, IPV6_V6ONLY}) == kAllow);
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_IPV6, IPV6_RTHDR}) == Errno(EPERM));
    CHECK(filter.Decide("setsockopt", {3, IPPROTO_UDP, 1}) == Errno(EPERM));
    // The host's devices and addresses.
    CHECK(filter.Decide("ioctl", {3, FIONREAD}) == kAllow);
    CHECK(filter.Decide("ioctl", {3, SIOCATMARK}) == kAllow);
    for (const std::uint64_t query : {SIOCGIFCONF, SIOCGIFHWADDR, SIOCETHTOOL, 0x8b01}) {
      CHECK(filter.Decide("ioctl", {3, query}) == Errno(ENOTTY));
    }
    // The rest is as without.
    CHECK(filter.Decide("fchmodat") == Errno(EPERM));
    CHECK(filter.Decide("io_uring_setup") == Errno(EPERM));
    CHECK(filter.Decide("openat") == kAllow);
  }
}

}  // namespace cordon::internal
