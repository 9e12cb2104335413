// Limits of a run: what is enforced works, and what is not is said.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

std::string EntryOf(const CordonRun& run, std::string_view feature) {
  for (const auto& entry : run.report["entries"]) {
    if (Has(entry["feature"].get<std::string>(), feature)) return entry["status"];
  }
  return "missing";
}

constexpr const char* kEat = R"(
import sys
blocks = []
try:
    for i in range(int(sys.argv[1])):
        blocks.append(b"x" * (16 << 20))
except MemoryError:
    print("refused"); sys.exit(9)
print("held", len(blocks) * 16)
)";

TEST_CASE("memory beyond the limit is refused and within it is not") {
  const Ground ground;
  ground.MakeFile("eat.py", kEat);
  CHECK(Control(ground, "python3 eat.py 40") == "held 640\n");
  Expect(RunInside(ground, {"--memory", "400m", "--", "python3", "eat.py", "8"}))
      .Status(0)
      .OutIs("held 128\n");
  const CordonRun run = RunInside(ground, {"--memory", "400m", "--", "python3", "eat.py", "40"});
  Expect(run).NoOut("held");
  CHECK(run.status != 0);
  CHECK(run.status != 125);
  CHECK(ReportAt(run, "/outcome/max_rss_bytes").get<long>() < 600L << 20);
}

TEST_CASE("files do not grow beyond their limit") {
  const Ground ground;
  const std::string act = "head -c 3000000 /dev/zero >big && echo whole";
  CHECK(Control(ground, act) == "whole\n");
  Expect(RunText(ground, {"--file-size", "1m"}, act)).NoOut("whole");
  CHECK(ground.Read("big").size() <= 1 << 20);
  Expect(RunText(ground, {"--file-size", "4m"}, act)).Status(0).OutIs("whole\n");
}

TEST_CASE("processor time is limited") {
  const Ground ground;
  const CordonRun run = RunText(ground, {"--cpu-time", "1s"}, "while :; do :; done");
  CHECK(run.status != 0);
  CHECK(run.status != 125);
  Expect(run).Below(seconds(10));
}

TEST_CASE("the number of processes is limited or the report says that it is not") {
  const Ground ground;
  ground.MakeFile("forks.py", R"(
import os, signal, time
children = []
try:
    for _ in range(120):
        pid = os.fork()
        if pid == 0:
            time.sleep(20)
            os._exit(0)
        children.append(pid)
    print("made all")
except OSError:
    print("stopped at", len(children))
for pid in children: os.kill(pid, signal.SIGKILL)
)");
  CHECK(Control(ground, "python3 forks.py") == "made all\n");
  Expect(RunInside(ground, {"--pids", "500", "--", "python3", "forks.py"}))
      .Status(0)
      .OutIs("made all\n");
  const CordonRun run = RunInside(ground, {"--pids", "40", "--", "python3", "forks.py"});
  if (Has(run.out, "made all")) {
    CHECK(RunningAsRoot());
    CHECK(run.report["guarantees"]["resource_limits"] == false);
    CHECK(EntryOf(run, "limit") != "enforced");
  } else {
    Expect(run).Out("stopped at");
    const int made = std::stoi(run.out.substr(run.out.rfind(' ')));
    CHECK(made >= 20);
    CHECK(made <= 40);
  }
}

TEST_CASE("a limit of one run does not remain for the next one") {
  const Ground ground;
  ground.MakeFile("eat.py", kEat);
  (void)RunInside(ground, {"--memory", "64m", "--pids", "5", "--", "python3", "eat.py", "40"});
  Expect(RunInside(ground, {"--", "python3", "eat.py", "12"})).OutIs("held 192\n");
}

TEST_CASE("output up to the limit is whole and beyond it the run ends") {
  const Ground ground;
  const CordonRun whole =
      RunText(ground, {"--max-output", "64k"}, "head -c 60000 /dev/zero; exit 4");
  CHECK(whole.status == 4);
  CHECK(whole.out.size() == 60'000);
  const CordonRun both = RunText(ground, {"--max-output", "64k"},
                                 "trap '' TERM PIPE; while :; do echo out; echo err >&2; done");
  CHECK(both.status == 123);
  CHECK(both.out.size() + both.err.size() <= 66'000);
  CHECK(both.out.size() + both.err.size() >= 32'000);
  Expect(both).Below(seconds(6));
}

TEST_CASE("cordon keeps none of the output that passes through it") {
  const Ground ground;
  const Ended ended = ground.RunUnconfined(
      "python3 -c '\nimport resource, subprocess, sys\n"
      "p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
      "print(p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 100 << 10)' " +
      CordonProgram() + " run -w . -c 'head -c 300000000 /dev/zero; exit 6'");
  INFO(ended.err);
  CHECK(ended.out == "6 True\n");
}

}  // namespace
}  // namespace cordon::test
