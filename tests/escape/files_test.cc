// Escapes by paths and descriptors.

#include <set>
#include <string>
#include <vector>

#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// A folder outside that may be read.
class ReadableGround : public Ground {
 public:
  ReadableGround() { Renew(); }
  void Renew() const {
    Remove(outside() + "/kept");
    Remove(outside() + "/empty");
    Remove(outside() + "/other");
    MakeFile(outside() + "/kept", "before");
    MakeFile(outside() + "/target", "target");
    MakeFolder(outside() + "/empty");
  }
};

TEST_CASE("no system call changes a readable root, its files' times and modes included") {
  const ReadableGround ground;
  const std::string kept = ground.outside() + "/kept";
  const std::string other = ground.outside() + "/other";
  const std::string empty = ground.outside() + "/empty";
  const Words policy = {"--read", ground.outside()};
  CHECK(ProbeInside(ground, policy, {"file_change", "read", kept}) == "done");
  const std::vector<Words> changes = {
      {"write", kept},
      {"create", other},
      {"temporary", ground.outside()},
      {"truncate", kept},
      {"unlink", kept},
      {"rmdir", empty},
      {"mkdir", other},
      {"symlink", other},
      {"chmod", kept},
      {"chown", kept},
      {"utimens", kept},
      {"rename", kept, other},
      {"exchange", kept, ground.outside() + "/target"},
      {"link", kept, other},
      {"reopen", kept},
  };
  for (const Words& change : changes) {
    Words probe = {"file_change"};
    probe.insert(probe.end(), change.begin(), change.end());
    INFO(change.front());
    ground.Renew();
    CHECK(ProbeOutside(ground, probe) == "done");
    ground.Renew();
    const auto before = Snapshot(ground.outside());
    const std::string word = ProbeInside(ground, policy, probe);
    CHECK((word == "EROFS" || word == "EACCES"));
    CHECK(Snapshot(ground.outside()) == before);
  }
}

TEST_CASE("a hidden file is reached by no folder descriptor and no root of a process") {
  const Ground ground;
  const std::string secret = ground.MakeFile(ground.outside() + "/secret", "CONFIDENTIAL");
  for (const std::string way : {"climb", "own-root", "thread-root"}) {
    INFO(way);
    CHECK(ProbeOutside(ground, {"folder_descriptor", way, secret}) == "done");
    CHECK(ProbeInside(ground, {}, {"folder_descriptor", way, secret}) == "ENOENT");
  }
  for (const std::string way : {"first-root", "first-cwd"}) {
    INFO(way);
    const std::string word = ProbeInside(ground, {}, {"folder_descriptor", way, secret});
    CHECK((word == "EACCES" || word == "EPERM" || word == "ENOENT"));
  }
  CHECK(ProbeInside(ground, {}, {"folder_descriptor", "changed-root", secret}) == "EPERM");
}

TEST_CASE("a denied file is opened, renamed and linked by no name or descriptor") {
  const Ground ground;
  ground.MakeFile("top/hidden/key", "CONFIDENTIAL");
  ground.MakeFile("decoy/hidden/key", "decoy");
  const Words policy = {"--deny-read", ground.PathOf("top/hidden")};
  const std::set<std::string> refusals = {"EACCES", "EPERM", "EROFS", "EBUSY", "ENOENT", "EXDEV"};
  const std::vector<Words> attempts = {
      {"read", "top/hidden/key"},
      {"write", "top/hidden/key"},
      {"reopen", "top/hidden/key"},
      {"create", "top/hidden/new"},
      {"rename", "top/hidden/key", "key"},
      {"rename", "top/hidden", "moved"},
      {"rename", "top", "moved"},
      {"exchange", "top", "decoy"},
      {"exchange", "top/hidden", "decoy/hidden"},
      {"link", "top/hidden/key", "key"},
      {"link-descriptor", "top/hidden/key", "key"},
      {"whiteout", "top/hidden", "moved"},
  };
  for (const Words& attempt : attempts) {
    Words probe = {"file_change"};
    probe.insert(probe.end(), attempt.begin(), attempt.end());
    INFO(attempt[0] << " " << attempt[1]);
    const std::string word = ProbeInside(ground, policy, probe);
    INFO(word);
    CHECK(refusals.count(word) == 1);
    CHECK(ground.Read("top/hidden/key") == "CONFIDENTIAL");
    CHECK(ground.Read("decoy/hidden/key") == "decoy");
  }
  // The control: the same calls work on what is not denied.
  CHECK(ProbeInside(ground, policy, {"file_change", "link", "decoy/hidden/key", "key"}) == "done");
  CHECK(ProbeInside(ground, policy, {"file_change", "rename", "decoy/hidden", "moved"}) == "done");
  CHECK(ground.Read("moved/key") == "decoy");
}

TEST_CASE("a protected file and the folders above it keep their place") {
  const Ground ground;
  MakeRepository(ground, ".");
  MakeRepository(ground, "vendor/nested");
  ground.MakeFile("decoy/hooks/pre-commit", "decoy");
  ground.MakeFile("decoy/config", "decoy");
  const std::string config = ground.Read(".git/config");
  const std::set<std::string> refusals = {"EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV"};
  const std::vector<Words> attempts = {
      {"write", ".git/config"},
      {"unlink", ".git/config"},
      {"truncate", ".git/config"},
      {"reopen", ".git/config"},
      {"chmod", ".git/config"},
      {"rename", "decoy/config", ".git/config"},
      {"exchange", "decoy/config", ".git/config"},
      {"link-descriptor", ".git/config", "second-name"},
      {"link", "decoy/config", ".git/hooks/pre-commit"},
      {"rename", "decoy/hooks", ".git/hooks"},
      {"rename", ".git/hooks", "moved"},
      {"exchange", "decoy/hooks", ".git/hooks"},
      {"create", ".git/hooks/pre-commit"},
      {"symlink", ".git/hooks/pre-commit"},
      {"rename", ".git", "moved"},
      {"exchange", ".git", "decoy"},
      {"rename", "vendor", "moved"},
      {"rename", "vendor/nested", "moved"},
      {"write", "vendor/nested/.git/config"},
  };
  for (const Words& attempt : attempts) {
    Words probe = {"file_change"};
    probe.insert(probe.end(), attempt.begin(), attempt.end());
    INFO(attempt[0] << " " << attempt[1]);
    const std::string word = ProbeInside(ground, {}, probe);
    INFO(word);
    CHECK(refusals.count(word) == 1);
    CHECK(ground.Read(".git/config") == config);
    CHECK_FALSE(ground.Exists(".git/hooks/pre-commit"));
    CHECK_FALSE(ground.Exists("moved"));
  }
  // The control: without protection the same calls work.
  CHECK(ProbeOutside(ground, {"file_change", "write", ".git/config"}) == "done");
  CHECK(ProbeOutside(ground, {"file_change", "create", ".git/hooks/pre-commit"}) == "done");
  CHECK(ProbeOutside(ground, {"file_change", "exchange", ".git", "decoy"}) == "done");
}

TEST_CASE("files of the kernel cannot be opened for writing") {
  const Ground ground;
  int writable_outside = 0;
  for (const std::string file :
       {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory", "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/kernel/randomize_va_space", "/proc/sysrq-trigger",
        "/proc/sys/fs/binfmt_misc/register", "/proc/irq/default_smp_affinity",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/uevent_helper",
        "/sys/power/state"}) {
    INFO(file);
    if (ProbeDisposable(ground, {"file_change", "write", file}) == "done") ++writable_outside;
    const std::string word = ProbeInside(ground, {}, {"file_change", "write", file});
    INFO(word);
    CHECK((word == "EROFS" || word == "EACCES" || word == "EPERM" || word == "ENOENT"));
  }
  if (RunningAsRoot()) CHECK(writable_outside >= 5);
  for (const std::string file : {"/proc/kcore", "/proc/kmsg", "/proc/timer_list"}) {
    INFO(file);
    const CordonRun run =
        RunText(ground, {}, "dd if=" + file + " bs=1 count=1 2>/dev/null | wc -c");
    Expect(run, file).OutIs("0\n");
  }
  for (const std::string device : {"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/fuse"}) {
    INFO(device);
    CHECK(ProbeInside(ground, {}, {"file_change", "write", device}) == "ENOENT");
  }
}

TEST_CASE("the process's own files of /proc are there") {
  const Ground ground;
  Expect(RunText(ground, {},
                 "test -r /proc/self/maps && readlink /proc/self/exe && "
                 "test -d /proc/self/fd && cat /proc/meminfo /proc/cpuinfo >/dev/null"))
      .Status(0);
}

}  // namespace
}  // namespace cordon::test
