// The same escapes in the landlock tier, where nothing but rules stands between the command and the
// host. Here the host itself is the ground, so only what cannot harm it is tried.

#include <string>
#include <vector>

#include "file_attempts.h"
#include "integration/support/child.h"
#include "integration/support/ground.h"
#include "integration/support/listener.h"
#include "integration/support/waiting.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

constexpr bool kNeedsRoot = true;

Words OnHost(const Words& more = {}) {
  Words policy = {"--backend", "landlock"};
  policy.insert(policy.end(), more.begin(), more.end());
  return policy;
}

// Why this host cannot run the tier, or nothing.
std::string WhyNoTier() {
  static const std::string why = [] {
    const Ground ground;
    const CordonRun run = RunText(ground, OnHost(), "true");
    return run.status == 0 ? std::string() : run.err;
  }();
  return why;
}

#define NEEDS_LANDLOCK_TIER()                                                          \
  if (const std::string why = WhyNoTier(); !why.empty()) CORDON_SKIP("landlock", why); \
  static_assert(true)

TEST_CASE("landlock tier: no call changes a readable root, its files' times and modes included") {
  NEEDS_LANDLOCK_TIER();
  ExpectReadableRootKept(Ground(), OnHost());
}

TEST_CASE("landlock tier: a hidden file is reached by no folder descriptor and no root") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  const std::string secret = ground.MakeFile(ground.outside() + "/secret", "CONFIDENTIAL");
  for (const std::string way :
       {"climb", "own-root", "thread-root", "first-root", "first-cwd", "changed-root"}) {
    INFO(way);
    CHECK(IsRefusal(ProbeInside(ground, OnHost(), {"folder_descriptor", way, secret})));
  }
  CHECK(ProbeOutside(ground, {"folder_descriptor", "climb", secret}) == "done");
}

TEST_CASE("landlock tier: a denied file is opened, renamed and linked by no name or descriptor") {
  NEEDS_LANDLOCK_TIER();
  ExpectDeniedFolderKept(Ground(), OnHost());
}

TEST_CASE("landlock tier: a protected file and the folders above it keep their place") {
  NEEDS_LANDLOCK_TIER();
  ExpectProtectedFilesKept(Ground(), OnHost());
}

TEST_CASE("landlock tier: files of the kernel cannot be opened for writing") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  for (const std::string file :
       {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
        "/proc/sys/net/ipv4/ip_forward", "/sys/kernel/uevent_helper", "/sys/power/state",
        "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/fuse", "/proc/self/oom_score_adj"}) {
    INFO(file);
    CHECK(IsRefusal(ProbeInside(ground, OnHost(), {"file_change", "write", file})));
  }
  for (const std::string file : {"/proc/kcore", "/proc/kmsg", "/dev/mem"}) {
    INFO(file);
    CHECK(IsRefusal(ProbeInside(ground, OnHost(), {"file_change", "read", file})));
  }
  CHECK(ProbeInside(ground, OnHost(), {"file_change", "write", "/dev/null"}) == "done");
}

TEST_CASE("landlock tier: no socket reaches anything, by no family, path or name") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  // TCP sockets are led to the command's own proxy, and unix streams to its own servers.
  CHECK(ProbeInside(ground, OnHost(), {"socket_family", "unix"}) == "done");
  for (const std::string family : {"unix-datagram", "unix-raw", "udp", "netlink-route",
                                   "netlink-diag", "vsock", "raw", "packet"}) {
    INFO(family);
    CHECK(ProbeInside(ground, OnHost(), {"socket_family", family}) == "EACCES");
  }
  CHECK(ProbeInside(ground, OnHost(), {"socket_family", "mptcp"}) != "done");
  const Words open = OnHost({"--net-any"});
  CHECK(ProbeInside(ground, open, {"socket_family", "tcp"}) == "done");
  CHECK(ProbeInside(ground, open, {"socket_family", "unix"}) == "EACCES");
  CHECK(ProbeInside(ground, open, {"socket_family", "vsock"}) == "EAFNOSUPPORT");

  const std::string path = ground.outside() + "/socket";
  const std::string abstract = "cordon-test" + SleepMark();
  const Listener by_path(Listener::Kind::kUnixPath, path);
  const Listener by_name(Listener::Kind::kUnixAbstract, abstract);
  const Listener stream(Listener::Kind::kTcp);
  const std::string port = std::to_string(stream.port());
  for (const Words& probe : std::vector<Words>{{"unix_connect", "path", path},
                                               {"unix_connect", "abstract", abstract},
                                               {"host_network", "tcp", port}}) {
    INFO(probe[0] << " " << probe[1]);
    CHECK(ProbeOutside(ground, probe) == "done");
    CHECK(ProbeInside(ground, OnHost(), probe) != "done");
  }
  // With the network open, too, a unix socket of the host stays out of reach.
  CHECK(ProbeInside(ground, open, {"unix_connect", "path", path}) != "done");
  CHECK(Within(std::chrono::seconds(2), [&] {
    return by_path.contacts() == 1 && by_name.contacts() == 1 && stream.contacts() == 1;
  }));
}

TEST_CASE("landlock tier: a process of the host is not signalled, traced, read or limited") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  Child victim({"/bin/sleep", SleepMark()}, InsideOptions(ground));
  const std::string pid = std::to_string(victim.pid());
  for (const std::string act :
       {"kill", "environ", "mem", "root", "limits", "seize", "attach", "read", "getfd", "kcmp"}) {
    INFO(act);
    const std::string word = ProbeInside(ground, OnHost(), {"other_process", act, pid});
    INFO(word);
    CHECK(IsRefusal(word));
  }
  for (const std::string act : {"kill", "environ", "limits"}) {
    CHECK(ProbeOutside(ground, {"other_process", act, pid}) == "done");
  }
  CHECK(ProbeInside(ground, OnHost(), {"other_process", "kill", "sibling"}) == "done");
}

TEST_CASE("landlock tier: no namespace, mount, device, capability or kernel interface is open") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  ExpectHeld(ground, OnHost(),
             {
                 {{"new_namespace", "unshare", "user"}, "EPERM"},
                 {{"new_namespace", "clone", "user"}, "EPERM"},
                 {{"new_namespace", "clone3", "user"}, "ENOSYS"},
                 {{"new_namespace", "setns", "uts"}, "EPERM", "done", kNeedsRoot},
                 {{"mount_call", "umount"}, "EPERM", "EINVAL", kNeedsRoot},
                 {{"mount_call", "open_tree"}, "EPERM", "done", kNeedsRoot},
                 {{"mount_call", "fsopen"}, "EPERM", "done", kNeedsRoot},
                 {{"mount_call", "chroot"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "io_uring_enter"}, "EPERM", "EBADF"},
                 {{"kernel_call", "bpf"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "userfaultfd"}, "EPERM"},
                 {{"kernel_call", "open_by_handle_at"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "syslog"}, "EPERM", "done", kNeedsRoot},
                 {{"kernel_call", "mknod"}, "EPERM", "done", kNeedsRoot},
                 {{"raise_capability", "capset"}, "EPERM", "done", kNeedsRoot},
             });
  // What the host would share is closed, and what is the command's own works.
  CHECK(ProbeInside(ground, OnHost(), {"ordinary_work", "system-v"}) == "ENOSYS");
  for (const std::string work :
       {"thread", "fork", "session", "executable-memory", "pass-descriptor", "epoll", "eventfd",
        "timerfd", "signalfd", "random", "pidfd"}) {
    INFO(work);
    CHECK(Has(ProbeInside(ground, OnHost(), {"ordinary_work", work}), "done"));
  }
}

}  // namespace
}  // namespace cordon::test
