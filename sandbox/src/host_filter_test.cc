// The filter of the landlock tier, where commands are on the host's own ground.

#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "observed_calls.h"
#include "seccomp_testing.h"
#include "support/catch.h"
#include "syscall_policy.h"

namespace cordon::internal::testing {
namespace {

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

}  // namespace
}  // namespace cordon::internal::testing
