// What the exit status of `cordon run` says, and when.

#include <signal.h>

#include <algorithm>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

TEST_CASE("the exit status of the command is passed on") {
  const Ground ground;
  for (const int status : {0, 1, 42, 123, 124, 125, 126, 254, 255}) {
    const CordonRun run = RunText(ground, {}, "echo ran; exit " + std::to_string(status));
    Expect(run).Status(status).OutIs("ran\n");
    CHECK(ReportAt(run, "/outcome/code") == status);
  }
}

TEST_CASE("a signal that ends the command is 128 and its number") {
  const Ground ground;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGKILL, SIGSEGV, SIGTERM, SIGUSR2}) {
    const CordonRun run =
        RunInside(ground, {"--", "python3", "-c",
                           "import os; print('ran', flush=True); os.kill(os.getpid(), " +
                               std::to_string(number) + ")"});
    // Python itself handles SIGINT, and leaves by it again.
    Expect(run).Status(128 + number).OutIs("ran\n");
    CHECK(ReportAt(run, "/outcome/kind") == "signaled");
    CHECK(ReportAt(run, "/outcome/signal") == number);
    CHECK(ReportAt(run, "/outcome/code").is_null());
  }
}

TEST_CASE("126 is a program that cannot be executed and 127 one that is not there") {
  const Ground ground;
  ground.MakeFile("text", "no program\n");
  ground.MakeFolder("folder");
  ground.MakeProgram("no-interpreter", "#!/no/such/interpreter\n");
  const struct {
    const char* program;
    int status;
  } table[] = {
      {"./text", 126},           {"./folder", 126},  {"/etc/passwd", 126},
      {"./no-interpreter", 127}, {"./missing", 127}, {"no-such-program-in-path", 127},
  };
  for (const auto& row : table) {
    INFO(row.program);
    const CordonRun run = RunInside(ground, {"--", row.program});
    Expect(run).Status(row.status).OutIs("");
    CHECK_FALSE(run.err.empty());
  }
  Expect(RunText(ground, {}, "no-such-program-in-path")).Status(127);  // The shell says so.
}

TEST_CASE("a program outside of the view is not found") {
  const Ground ground;
  const std::string program =
      ground.MakeProgram(ground.outside() + "/program", "#!/bin/sh\necho ran\n");
  CHECK(Control(ground, program) == "ran\n");
  Expect(RunInside(ground, {"--", program})).Status(127).OutIs("");
  Expect(RunInside(ground, {"--read", ground.outside(), "--", program})).Status(0).OutIs("ran\n");
}

TEST_CASE("a missing command or an unknown subcommand starts nothing") {
  const Ground ground;
  Expect(RunInside(ground, {})).NotStarted();
  Expect(RunInside(ground, {"--"})).NotStarted();
  Expect(RunInside(ground, {"-c", ""})).NotStarted();
  Expect(RunInside(ground, {"-c", "echo ran", "--", "echo", "ran"})).NotStarted();
  Expect(RunCordon(ground, {"no-such-subcommand"})).NotStarted();
  Expect(RunCordon(ground, {})).NotStarted();
}

TEST_CASE("the time limit is 124 and the output limit 123") {
  const Ground ground;
  Expect(RunInside(ground, {"--timeout", "300ms", "--", "sleep", "30"}))
      .Status(124)
      .Below(seconds(5));
  Expect(RunText(ground, {"--max-output", "8k"}, "yes")).Status(123).Below(seconds(5));
  Expect(RunText(ground, {"--timeout", "20s", "--max-output", "8k"}, "exit 5")).Status(5);
}

TEST_CASE("help has an example for every subcommand and the version is one line") {
  const Ground ground;
  for (const std::string name : {"run", "doctor", "why", "profile", "rules", "audit", "mcp"}) {
    Expect(RunCordon(ground, {name, "--help"}), name).Status(0).Out("cordon " + name);
  }
  const CordonRun version = RunCordon(ground, {"--version"});
  Expect(version).Status(0).Out("cordon");
  CHECK(std::count(version.out.begin(), version.out.end(), '\n') == 1);
}

}  // namespace
}  // namespace cordon::test
