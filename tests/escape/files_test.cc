// Escapes by paths and descriptors.

#include <string>

#include "file_attempts.h"
#include "integration/support/ground.h"
#include "probe_run.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

TEST_CASE("no system call changes a readable root, its files' times and modes included") {
  ExpectReadableRootKept(Ground(), {});
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
  ExpectDeniedFolderKept(Ground(), {});
}

TEST_CASE("a protected file and the folders above it keep their place") {
  ExpectProtectedFilesKept(Ground(), {});
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
