#include "seccomp_filter.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "seccomp_testing.h"
#include "support/catch.h"
#include "syscall_policy.h"

namespace cordon::internal::testing {
namespace {

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
}  // namespace cordon::internal::testing
