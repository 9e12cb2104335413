// No process of a run outlives it, however it ends.

#include <signal.h>

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Processes that try to stay: in a session of their own, deaf to signals, forked twice.
std::string Stayers(const std::string& mark) {
  return "setsid sleep " + mark + " &\n(trap '' TERM HUP INT; sleep " + mark + "; sleep " + mark +
         ") &\n(setsid sh -c 'trap \"\" TERM HUP; sleep " + mark + " & sleep " + mark +
         "' &)\nnohup sleep " + mark + " >/dev/null 2>&1 &\n";
}

bool Gone(const std::string& mark) {
  return Within(seconds(3), [&] { return ProcessesWith(mark).empty(); });
}

TEST_CASE("without a sandbox such processes stay") {
  const Ground ground;
  const std::string mark = SleepMark();
  // Their output goes elsewhere, so that the shell's end is the end of its streams.
  ground.RunUnconfined("(" + Stayers(mark) + ") >/dev/null 2>&1");
  const auto stayers = ProcessesWith(mark);
  CHECK(stayers.size() >= 4);
  for (const int pid : stayers) kill(pid, SIGKILL);
}

TEST_CASE("the end of the command ends everything that it started") {
  const Ground ground;
  const std::string mark = SleepMark();
  Expect(RunText(ground, {}, Stayers(mark) + "echo ended")).Status(0).OutIs("ended\n");
  CHECK(Gone(mark));
}

TEST_CASE("the time limit ends the whole tree after what was printed before") {
  const Ground ground;
  const std::string mark = SleepMark();
  const CordonRun run =
      RunText(ground, {"--timeout", "700ms"},
              "echo before\n" + Stayers(mark) + "trap '' TERM\nsleep " + mark + "; sleep " + mark);
  Expect(run).Status(124).OutIs("before\n").Below(seconds(6));
  CHECK(run.elapsed >= milliseconds(690));
  CHECK(ReportAt(run, "/outcome/kind") == "timed_out");
  CHECK(Gone(mark));
}

TEST_CASE("a command within its time limit is not touched") {
  const Ground ground;
  Expect(RunText(ground, {"--timeout", "10s"}, "sleep 0.1; exit 4")).Status(4);
}

TEST_CASE("the output limit ends the whole tree") {
  const Ground ground;
  const std::string mark = SleepMark();
  Expect(RunText(ground, {"--max-output", "8k"}, Stayers(mark) + "yes"))
      .Status(123)
      .Below(seconds(6));
  CHECK(Gone(mark));
}

TEST_CASE("SIGTERM to cordon reaches the command, which may tidy up") {
  const Ground ground;
  Child child(InsideCommand(ground, {"-c",
                                     "trap 'echo tidied >tidied; exit 9' TERM; echo ready; "
                                     "while :; do sleep 0.05; done"}),
              InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  child.Signal(SIGTERM);
  const Ended ended = child.Finish({}, seconds(8));
  CHECK(ended.in_time);
  CHECK(ended.status == 9);
  CHECK(ground.Read("tidied") == "tidied\n");
}

TEST_CASE("SIGTERM and SIGINT to cordon end a plain command at once") {
  const Ground ground;
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string mark = SleepMark();
    Child child(InsideCommand(ground, {"-c", "echo ready; exec sleep " + mark}),
                InsideOptions(ground));
    std::string line;
    REQUIRE(child.ReadLine(line, seconds(10)));
    child.Signal(signal);
    const Ended ended = child.Finish({}, seconds(5));
    CHECK(ended.in_time);
    CHECK(ended.status == 128 + signal);
    CHECK(Gone(mark));
  }
}

TEST_CASE("a command that ignores SIGTERM is killed after the grace") {
  const Ground ground;
  const std::string mark = SleepMark();
  Child child(
      InsideCommand(ground, {"-c", "trap '' TERM; echo ready; sleep " + mark + "; sleep " + mark}),
      InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  child.Signal(SIGTERM);
  const Ended ended = child.Finish({}, seconds(8));
  CHECK(ended.in_time);
  CHECK(ended.status == 128 + SIGKILL);
  CHECK(Gone(mark));
}

TEST_CASE("when cordon is killed everything of the run dies with it") {
  const Ground ground;
  const std::string mark = SleepMark();
  Child child(InsideCommand(ground, {"-c", Stayers(mark) + "echo ready; sleep " + mark}),
              InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).size() >= 4; }));  // The control.
  child.Signal(SIGKILL);
  CHECK(child.Finish().status == 128 + SIGKILL);
  CHECK(Gone(mark));
}

TEST_CASE("the processes of the host are not visible and those of the run are few") {
  const Ground ground;
  const std::string mark = SleepMark();
  Child victim({"/bin/sleep", mark}, InsideOptions(ground));
  const std::string look =
      "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l";
  CHECK(Has(Control(ground, look), mark));
  const CordonRun run = RunText(ground, {}, look);
  Expect(run).Status(0).NoOut(mark).NoOut("cordon run");
  CHECK(std::stoi(run.out.substr(run.out.find('\n') + 1)) < 10);
}

TEST_CASE("the user inside is the caller and so is the owner of what it makes") {
  const Ground ground;
  const CordonRun run = RunText(ground, {},
                                "id -u; id -g; id -un; stat -c %u .; touch mine && "
                                "stat -c %u mine");
  const std::string uid = std::to_string(getuid());
  const std::string name = Control(ground, "id -un");
  Expect(run).Status(0).OutIs(uid + "\n" + std::to_string(getgid()) + "\n" + name + uid + "\n" +
                              uid + "\n");
}

TEST_CASE("cordon runs inside of cordon and gives no more than the outer one") {
  const Ground ground;
  const std::string secret = ground.MakeFile(ground.outside() + "/secret", "CONFIDENTIAL");
  ground.MakeFolder("sub");
  const std::string program = CordonProgram();
  Words policy = {"--read", program};
  for (const std::string& word : NestedOptions()) policy.push_back(word);
  const std::string inner = program + " run -w " + ground.PathOf("sub");
  const CordonRun tier = RunText(ground, policy, inner + " -c true");
  if (tier.status == 125) CORDON_SKIP("landlock-tier", "there is no tier that nests: " + tier.err);
  Expect(RunText(ground, policy, inner + " -c 'echo inner; echo x >made; exit 7'; echo \"is $?\""))
      .Status(0)
      .Out("inner\n")
      .Out("is 7\n");
  CHECK(ground.Read("sub/made") == "x\n");
  Expect(RunText(ground, policy,
                 inner + " --write " + ground.outside() + " --net-any -c 'cat " + secret +
                     "; echo x >" + ground.outside() + "/made'; echo finished"))
      .Out("finished")
      .NoOut("CONFIDENTIAL");
  CHECK_FALSE(ground.Exists(ground.outside() + "/made"));
  Expect(RunText(ground, policy, inner + " -c 'echo inner; echo x >../escaped'; exit 0"))
      .Out("inner");
  CHECK_FALSE(ground.Exists("escaped"));
}

}  // namespace
}  // namespace cordon::test
