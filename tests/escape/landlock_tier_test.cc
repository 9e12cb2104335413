// The same escapes in the landlock tier, where nothing but rules stands between the command and the
// host. Here the host itself is the ground, so only what cannot harm it is tried.

#include <set>
#include <string>
#include <vector>

#include "integration/support/child.h"
#include "integration/support/ground.h"
#include "integration/support/listener.h"
#include "integration/support/repository.h"
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

bool IsRefusal(const std::string& word) {
  static const std::set<std::string> refusals = {"EACCES", "EPERM",      "EROFS", "EXDEV",
                                                 "ENOENT", "EOPNOTSUPP", "EBUSY"};
  return refusals.count(word) == 1;
}

void Renew(const Ground& ground) {
  for (const char* name : {"/kept", "/empty", "/other"}) ground.Remove(ground.outside() + name);
  ground.MakeFile(ground.outside() + "/kept", "before");
  ground.MakeFile(ground.outside() + "/target", "target");
  ground.MakeFolder(ground.outside() + "/empty");
}

TEST_CASE("landlock tier: no call changes a readable root, its files' times and modes included") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  Renew(ground);
  const std::string kept = ground.outside() + "/kept";
  const std::string other = ground.outside() + "/other";
  const Words policy = OnHost({"--read", ground.outside()});
  CHECK(ProbeInside(ground, policy, {"file_change", "read", kept}) == "done");
  const std::vector<Words> changes = {{"write", kept},
                                      {"create", other},
                                      {"temporary", ground.outside()},
                                      {"truncate", kept},
                                      {"unlink", kept},
                                      {"rmdir", ground.outside() + "/empty"},
                                      {"mkdir", other},
                                      {"symlink", other},
                                      {"chmod", kept},
                                      {"chown", kept},
                                      {"utimens", kept},
                                      {"setxattr", kept},
                                      {"rename", kept, other},
                                      {"link", kept, other},
                                      {"reopen", kept},
                                      {"exchange", kept, ground.outside() + "/target"},
                                      {"link-descriptor", kept, other}};
  for (const Words& change : changes) {
    Words probe = {"file_change"};
    probe.insert(probe.end(), change.begin(), change.end());
    INFO(change.front());
    Renew(ground);
    // A file system may have no attributes at all.
    if (change.front() != "setxattr") CHECK(ProbeOutside(ground, probe) == "done");
    Renew(ground);
    const auto before = Snapshot(ground.outside());
    const std::string word = ProbeInside(ground, policy, probe);
    INFO(word);
    CHECK(IsRefusal(word));
    CHECK(Snapshot(ground.outside()) == before);
  }
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
  const Ground ground;
  ground.MakeFile("top/hidden/key", "CONFIDENTIAL");
  ground.MakeFile("decoy/hidden/key", "decoy");
  const Words policy = OnHost({"--deny-read", ground.PathOf("top/hidden")});
  const std::vector<Words> attempts = {
      {"read", "top/hidden/key"},          {"write", "top/hidden/key"},
      {"reopen", "top/hidden/key"},        {"create", "top/hidden/new"},
      {"rename", "top/hidden/key", "key"}, {"rename", "top/hidden", "moved"},
      {"rename", "top", "moved"},          {"exchange", "top", "decoy"},
      {"link", "top/hidden/key", "key"},   {"exchange", "top/hidden", "decoy/hidden"},
      {"chmod", "top/hidden/key"},         {"link-descriptor", "top/hidden/key", "decoy/key"},
      {"whiteout", "top/hidden", "moved"}, {"link", "top/hidden/key", "decoy/key"}};
  for (const Words& attempt : attempts) {
    Words probe = {"file_change"};
    probe.insert(probe.end(), attempt.begin(), attempt.end());
    INFO(attempt[0] << " " << attempt[1]);
    const std::string word = ProbeInside(ground, policy, probe);
    INFO(word);
    CHECK(IsRefusal(word));
    CHECK(ground.Read("top/hidden/key") == "CONFIDENTIAL");
    CHECK(ground.Read("decoy/hidden/key") == "decoy");
  }
  CHECK(ProbeInside(ground, policy, {"file_change", "rename", "decoy/hidden", "decoy/moved"}) ==
        "done");
  CHECK(ground.Read("decoy/moved/key") == "decoy");
}

TEST_CASE("landlock tier: a protected file and the folders above it keep their place") {
  NEEDS_LANDLOCK_TIER();
  const Ground ground;
  MakeRepository(ground, ".");
  MakeRepository(ground, "vendor/nested");
  ground.MakeFile("decoy/hooks/pre-commit", "decoy");
  ground.MakeFile("decoy/config", "decoy");
  const std::string config = ground.Read(".git/config");
  const std::vector<Words> attempts = {
      {"write", ".git/config"},
      {"unlink", ".git/config"},
      {"truncate", ".git/config"},
      {"reopen", ".git/config"},
      {"chmod", ".git/config"},
      {"rename", "decoy/config", ".git/config"},
      {"exchange", "decoy/config", ".git/config"},
      {"link-descriptor", ".git/config", "decoy/second-name"},
      {"link", "decoy/config", ".git/hooks/pre-commit"},
      {"rename", "decoy/hooks", ".git/hooks"},
      {"rename", ".git/hooks", "decoy/moved"},
      {"exchange", "decoy/hooks", ".git/hooks"},
      {"create", ".git/hooks/pre-commit"},
      {"symlink", ".git/hooks/pre-commit"},
      {"rename", ".git", "decoy/moved"},
      {"exchange", ".git", "decoy"},
      {"rename", "vendor", "decoy/moved"},
      {"rename", "vendor/nested", "decoy/moved"},
      {"write", "vendor/nested/.git/config"},
  };
  for (const Words& attempt : attempts) {
    Words probe = {"file_change"};
    probe.insert(probe.end(), attempt.begin(), attempt.end());
    INFO(attempt[0] << " " << attempt[1]);
    const std::string word = ProbeInside(ground, OnHost(), probe);
    INFO(word);
    CHECK(IsRefusal(word));
    CHECK(ground.Read(".git/config") == config);
    CHECK_FALSE(ground.Exists(".git/hooks/pre-commit"));
    CHECK_FALSE(ground.Exists("decoy/moved"));
  }
  CHECK(ProbeInside(ground, OnHost(), {"file_change", "write", "decoy/config"}) == "done");
  CHECK(ProbeOutside(ground, {"file_change", "write", ".git/config"}) == "done");
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
  for (const std::string family : {"unix", "tcp", "udp", "tcp6", "netlink-route", "netlink-diag",
                                   "vsock", "mptcp", "raw", "packet"}) {
    INFO(family);
    CHECK(ProbeInside(ground, OnHost(), {"socket_family", family}) == "EACCES");
  }
  const Words open = OnHost({"--net-any"});
  CHECK(ProbeInside(ground, open, {"socket_family", "tcp"}) == "done");
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
