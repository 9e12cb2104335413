// Limits of a run: what is enforced works, and what is not is said.

#include <algorithm>
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
  if (Has(run.out, "made all") || run.out.empty()) {  // Not held, or watched and ended.
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

std::string EndedBy(const CordonRun& run) {
  for (const auto& entry : run.report["entries"]) {
    if (entry["feature"] == "limits.ended_by") return entry["detail"];
  }
  return "";
}

// Each process makes two more, in sessions of their own, and says so.
constexpr const char* kBomb = R"(
import os, sys, time
log = os.open("made", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
depth = 0
while depth < 6:
    depth += 1
    try:
        if os.fork() == 0:
            os.setsid()
            os.write(log, b"x\n")
    except OSError:
        os.write(log, b"refused\n")
time.sleep(2)
)";

TEST_CASE("a fork bomb never has more processes than its limit where that is claimed") {
  const Ground ground;
  ground.MakeFile("bomb.py", kBomb);
  (void)Control(ground, "python3 bomb.py; sleep 1");
  const std::string free = ground.Read("made");
  CHECK(std::count(free.begin(), free.end(), 'x') == 63);
  ground.MakeFile("made", "");
  const CordonRun run = RunInside(ground, {"--pids", "20", "--", "python3", "bomb.py"});
  if (!run.report["guarantees"]["resource_limits"].get<bool>()) {
    CORDON_SKIP("pid-limit", "nothing holds a process limit here, and the report says so");
  }
  const std::string made = ground.Read("made");
  CHECK(Has(made, "refused"));
  CHECK(std::count(made.begin(), made.end(), 'x') <= 19);
  CHECK(std::count(made.begin(), made.end(), 'x') >= 10);
}

// Processes that hold so many MiB each, at the same time.
constexpr const char* kHold = R"(
import os, sys, time
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        block = bytearray(int(sys.argv[1]) << 20)
        for i in range(0, len(block), 4096): block[i] = 1
        time.sleep(float(sys.argv[3]))
        os._exit(0)
for _ in range(int(sys.argv[2])): os.wait()
print("all held")
)";

TEST_CASE("processes that hold too much memory together are ended, and the report says why") {
  const Ground ground;
  ground.MakeFile("hold.py", kHold);
  CHECK(Control(ground, "python3 hold.py 100 4 1") == "all held\n");
  for (const char* backend : {"namespaces", "landlock"}) {
    CAPTURE(backend);
    const auto run = [&](const std::string& each, const std::string& seconds_held) {
      return RunInside(ground, {"--backend", backend, "--memory", "300m", "--", "python3",
                                "hold.py", each, "4", seconds_held});
    };
    Expect(run("20", "0.5")).Status(0).OutIs("all held\n");
    const CordonRun over = run("100", "15");
    Expect(over).Status(137).NoOut("held").Err("memory").Below(seconds(14));
    CHECK(Has(EndedBy(over), "memory"));
    CHECK(EntryOf(over, "limits.memory") == "narrowed");
    CHECK(over.report["guarantees"]["resource_limits"] == false);
  }
}

TEST_CASE("memory that processes share counts once") {
  const Ground ground;
  ground.MakeFile("share.py", R"(
import os, time
block = bytearray(100 << 20)
for i in range(0, len(block), 4096): block[i] = 1
for _ in range(6):
    if os.fork() == 0:
        time.sleep(0.7)
        os._exit(0)
for _ in range(6): os.wait()
print("all shared")
)");
  for (const char* backend : {"namespaces", "landlock"}) {
    CAPTURE(backend);
    Expect(
        RunInside(ground, {"--backend", backend, "--memory", "300m", "--", "python3", "share.py"}))
        .Status(0)
        .OutIs("all shared\n");
  }
}

TEST_CASE("processor time is limited for all processes together") {
  const Ground ground;
  ground.MakeFile("spin.py", R"(
import os, sys, time
for _ in range(4):
    if os.fork() == 0:
        while time.process_time() < float(sys.argv[1]): pass
        os._exit(0)
for _ in range(4): os.wait()
print("all spun")
)");
  CHECK(Control(ground, "python3 spin.py 0.7") == "all spun\n");
  for (const char* backend : {"namespaces", "landlock"}) {
    CAPTURE(backend);
    const auto run = [&](const char* each) {
      return RunInside(
          ground, {"--backend", backend, "--cpu-time", "1s", "--", "python3", "spin.py", each});
    };
    Expect(run("0.05")).Status(0).OutIs("all spun\n");
    const CordonRun over = run("0.7");
    Expect(over).Status(137).NoOut("spun").Err("processor time");
    CHECK(Has(EndedBy(over), "processor time"));
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
  if (kAddressSanitizer) CORDON_SKIP("memory", "AddressSanitizer keeps what was freed");
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
