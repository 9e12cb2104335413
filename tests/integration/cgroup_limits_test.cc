// Limits that cgroups hold, where one was delegated to whoever runs the tests: it is named by
// CORDON_CGROUP_ROOT, and the tests run in one below it.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "integration/support/child.h"
#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;
namespace fs = std::filesystem;

// Memory, so that a cgroup is needed, and enough of it.
const Words kPlenty = {"--memory", "200m"};

class CgroupGround : public Ground {
 public:
  CgroupGround() {
    const char* const root = std::getenv("CORDON_CGROUP_ROOT");
    if (root == nullptr) return;
    root_ = root;
    SetVariable("CORDON_CGROUP_ROOT", root_);
  }

  [[nodiscard]] bool usable() const {
    return !root_.empty() && RunText(*this, kPlenty, "true").status == 0;
  }
  // Cgroups of sets of commands.
  [[nodiscard]] long Left() const {
    return std::count_if(fs::directory_iterator(root_), fs::directory_iterator(),
                         [](const fs::directory_entry& entry) {
                           return entry.path().filename().string().rfind("cordon-set-", 0) == 0;
                         });
  }

 private:
  std::string root_;
};

#define NEEDS_A_DELEGATED_CGROUP(ground)                                             \
  const CgroupGround ground;                                                         \
  if (!(ground).usable()) {                                                          \
    CORDON_SKIP("cgroup",                                                            \
                "no cgroup with the memory and pids controllers was delegated here " \
                "(CORDON_CGROUP_ROOT)");                                             \
  }

std::string EntryOf(const CordonRun& run, std::string_view feature) {
  for (const auto& entry : run.report["entries"]) {
    if (entry["feature"] == feature) {
      return entry["status"].get<std::string>() + ": " + entry["detail"].get<std::string>();
    }
  }
  return "";
}

TEST_CASE("in cgroups every limit is enforced, and names what enforces it") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  const CordonRun run =
      RunText(ground, {"--memory", "200m", "--pids", "40", "--cpu-time", "20s"}, "echo ran");
  Expect(run).Status(0).OutIs("ran\n");
  CHECK(run.report["guarantees"]["resource_limits"] == true);
  CHECK(Has(EntryOf(run, "limits.memory"), "enforced: cgroup v2: memory.max"));
  CHECK(Has(EntryOf(run, "limits.processes"), "enforced: cgroup v2: pids.max"));
  CHECK(Has(EntryOf(run, "limits.cpu_time"), "enforced: cgroup v2: cpu.stat"));
  CHECK(ground.Left() == 0);
}

TEST_CASE("a fork bomb in a cgroup is refused more processes, and the host is not") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  ground.MakeFile("bomb.py", R"(
import errno, os, sys, time
log = os.open("made", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for depth in range(7):
    try:
        if os.fork() == 0:
            os.setsid()
            os.write(log, b"x\n")
    except OSError as error:
        os.write(log, b"refused " + errno.errorcode[error.errno].encode() + b"\n")
time.sleep(2)
)");
  Expect(RunText(ground, {"--memory", "200m", "--pids", "20"}, "python3 bomb.py")).Status(0);
  const std::string made = ground.Read("made");
  CHECK(Has(made, "refused EAGAIN"));
  CHECK(std::count(made.begin(), made.end(), 'x') <= 19);
  CHECK(std::count(made.begin(), made.end(), 'x') >= 10);
  CHECK(ground.RunUnconfined("true").status == 0);
}

TEST_CASE("a tree of processes that allocate is ended at its limit as a whole") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  ground.MakeFile("hold.py", R"(
import os, sys, time
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        block = bytearray(int(sys.argv[1]) << 20)
        for i in range(0, len(block), 4096): block[i] = 1
        time.sleep(float(sys.argv[2]))
        os._exit(0)
for _ in range(4): os.wait()
print("all held")
)");
  Expect(RunText(ground, kPlenty, "python3 hold.py 20 0.5")).Status(0).OutIs("all held\n");
  const CordonRun over = RunText(ground, kPlenty, "python3 hold.py 100 30; echo survived");
  Expect(over).Status(137).NoOut("held").NoOut("survived").Err("memory").Below(seconds(29));
  CHECK(Has(EntryOf(over, "limits.ended_by"), "memory"));
  CHECK(ground.Left() == 0);
}

TEST_CASE("files of memory count, and address space that is not used does not") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  const CordonRun over =
      RunText(ground, kPlenty, "head -c 400000000 /dev/zero >/dev/shm/file; echo whole");
  Expect(over).Status(137).NoOut("whole");
  Expect(RunText(ground, kPlenty,
                 "python3 -c 'import mmap; m = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE); "
                 "m[0] = 1; print(len(m) >> 30)'"))
      .Status(0)
      .OutIs("1\n");
}

TEST_CASE("processor time in a cgroup is that of processes that are gone, too") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  const CordonRun over = RunText(
      ground, {"--cpu-time", "1s"},
      "trap '' CHLD; while :; do (i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done) & wait; done");
  Expect(over).Status(137).Err("processor time");
  CHECK(over.report["guarantees"]["resource_limits"] == true);
}

TEST_CASE("a command does not see its cgroup's files") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  Expect(RunText(ground, kPlenty, "cat /proc/self/cgroup; ls /sys/fs/cgroup || echo none"))
      .Status(0)
      .Out("0::/\n")
      .Out("none");
}

TEST_CASE("when cordon is killed nothing of its cgroups remains, nor of fifty runs") {
  NEEDS_A_DELEGATED_CGROUP(ground);
  Child child(InsideCommand(ground, {"--memory", "200m", "--", "sh", "-c",
                                     "echo started; setsid sleep 60 & sleep 60"}),
              InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(15)));
  CHECK(ground.Left() == 1);
  child.Signal(SIGKILL);
  CHECK(Within(seconds(10), [&] { return ground.Left() == 0; }));
  for (int i = 0; i < 50; ++i) REQUIRE(RunText(ground, kPlenty, "true").status == 0);
  CHECK(ground.Left() == 0);
}

TEST_CASE("a cgroup that was named and cannot be used is an error, not a weaker limit") {
  Ground ground;
  ground.SetVariable("CORDON_CGROUP_ROOT", "/nowhere/at-all");
  Expect(RunText(ground, kPlenty, "echo ran")).NotStarted().Err("CORDON_CGROUP_ROOT");
  // Without a limit nothing is asked of it.
  Expect(RunText(ground, {}, "echo ran")).Status(0).OutIs("ran\n");
}

}  // namespace
}  // namespace cordon::test
