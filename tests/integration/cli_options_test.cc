// A wrong option never runs anything, and the one line that says so names what is wrong.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

TEST_CASE("options that are unknown, misspelt or have a bad value start nothing") {
  const Ground ground;
  Expect(RunText(ground, {}, "echo ran")).Status(0).OutIs("ran\n");  // The control.
  const Words bad[] = {
      {"--unknown"},
      {"--net-anyy"},
      {"--denyread", "/x"},
      {"--preset", "workspase"},
      {"--preset", ""},
      {"--net", "no-port"},
      {"--net", "host:0"},
      {"--net", "host:70000"},
      {"--net", "host:https"},
      {"--net", "a:1:2"},
      {"--net", ":443"},
      {"--net", "[::1:443"},
      {"--net", "*:443:"},
      {"--host-port", "0"},
      {"--host-port", "http"},
      {"--publish", "65536"},
      {"--timeout", "10"},
      {"--timeout", "-3s"},
      {"--timeout", "later"},
      {"--timeout", "0s"},
      {"--max-output", "1x"},
      {"--max-output", "-5"},
      {"--memory", "much"},
      {"--memory", "0"},
      {"--pids", "0"},
      {"--pids", "-1"},
      {"--cpu-time", "many"},
      {"--file-size", "big"},
      {"--env", "=x"},
      {"--env", ""},
      {"--gate", "perhaps"},
      {"--backend", "chroot"},
      {"--require", "perfection"},
      {"--home", "away"},
      {"--profile", ground.PathOf("missing.json")},
      {"--ceiling", ground.PathOf("missing.json")},
      {"--rules", ground.PathOf("missing.json")},
      {"--resolve", "name=127.0.0.1"},
      {"--resolve", "name:80=other:80"},
      {"--deny-read", "/x[z-a]"},
      {"-C", ground.outside()},
      {"-C", ground.PathOf("missing")},
      {"--report", ground.root() + "/missing/report.json"},
  };
  for (const Words& options : bad) {
    Words arguments = {"run", "-w", ground.workspace()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"-c", "echo ran >ran; echo ran"});
    const CordonRun run = RunCordon(ground, arguments);
    const Expect expect(run, options.front());
    expect.NotStarted();
    INFO(run.err);
    CHECK((Has(run.err, options.front()) ||
           (options.size() > 1 && !options[1].empty() && Has(run.err, options[1]))));
    CHECK_FALSE(ground.Exists("ran"));
  }
}

TEST_CASE("a misspelt option or subcommand is answered with the nearest one") {
  const Ground ground;
  Expect(RunInside(ground, {"--tiemout", "3s", "-c", "echo ran"})).NotStarted().Err("--timeout");
  Expect(RunCordon(ground, {"rum"})).NotStarted().Err("run");
}

TEST_CASE("an option without its value starts nothing") {
  const Ground ground;
  for (const char* option : {"--net", "--read", "--timeout", "-w", "-c"}) {
    Expect(RunInside(ground, {option}), option).NotStarted();
  }
}

TEST_CASE("what follows the separator is the command's and no option of ours") {
  const Ground ground;
  Expect(RunInside(ground, {"--", "echo", "--net", "x", "--unknown", "--", "-c"}))
      .Status(0)
      .OutIs("--net x --unknown -- -c\n");
}

TEST_CASE("a refused option writes a report that says so when a report was asked for") {
  const Ground ground;
  const CordonRun run = RunInside(ground, {"--require", "perfection", "-c", "echo ran"});
  Expect(run).NotStarted();
  CHECK(ReportAt(run, "/outcome/kind") == "not_started");
  CHECK(ReportAt(run, "/outcome/error/code") == "invalid_option");
}

}  // namespace
}  // namespace cordon::test
