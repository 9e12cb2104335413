// The report of a run: complete, consistent, of this run, and out of the command's reach.

#include <signal.h>

#include <set>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using std::chrono::seconds;

std::set<std::string> Keys(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

const std::set<std::string> kGuarantees = {
    "process_boundary", "write_boundary",  "read_boundary",  "env_scrub",
    "network_boundary", "address_network", "target_network", "resource_limits"};

TEST_CASE("the report has every member of its contract") {
  const Ground ground;
  const CordonRun run =
      RunInside(ground, {"--", "sh", "-c", "echo to-output; echo to-errors >&2; exit 6"});
  Expect(run).Status(6).OutIs("to-output\n");
  CHECK(run.err == "to-errors\n");
  const json& report = run.report;
  REQUIRE(report.is_object());
  CHECK(Keys(report) == std::set<std::string>{"version", "command", "workspace", "execution_id",
                                              "backend", "level", "guarantees", "entries",
                                              "lifetime", "outcome", "denials", "changed_protected",
                                              "grants"});
  CHECK(report["version"] == 1);
  CHECK(report["command"] == json({"sh", "-c", "echo to-output; echo to-errors >&2; exit 6"}));
  CHECK(report["workspace"] == ground.workspace());
  CHECK(report["execution_id"].get<std::string>().size() >= 8);
  CHECK(Keys(report["guarantees"]) == kGuarantees);
  for (const json& bit : report["guarantees"]) CHECK(bit.is_boolean());
  CHECK(report["denials"] == json::array());
  CHECK(report["changed_protected"] == json::array());
  CHECK(report["grants"] == json::array());
  const json& outcome = report["outcome"];
  CHECK(outcome["kind"] == "exited");
  CHECK(outcome["code"] == 6);
  CHECK(outcome["signal"].is_null());
  CHECK(outcome["output_truncated"] == false);
  CHECK(outcome["wall_ms"].get<long>() <= run.elapsed.count() + 50);
  CHECK(outcome["max_rss_bytes"].get<long>() > 0);
  CHECK(outcome["cpu_ms"].get<long>() >= 0);
}

TEST_CASE("what a report claims is consistent in itself") {
  const Ground ground;
  for (const Words& policy : {Words{}, Words{"--backend", "landlock"}, Words{"--net-any"},
                              Words{"--preset", "read-only"}, Words{"--preset", "trusted"}}) {
    const CordonRun run = RunText(ground, policy, "true");
    if (run.status == 125 && Has(run.err, "landlock tier")) continue;
    Expect(run).Status(0);
    const json& report = run.report;
    INFO(report.dump(2));
    const json& bits = report["guarantees"];
    const std::string level = report["level"];
    CHECK((report["backend"] == "namespaces" || report["backend"] == "landlock"));
    if (level == "full") CHECK(bits["write_boundary"] == true);
    if (bits["write_boundary"] == true) CHECK(level != "none");
    if (bits["address_network"] == true) CHECK(bits["network_boundary"] == true);
    if (bits["target_network"] == true) CHECK(bits["network_boundary"] == true);
    REQUIRE_FALSE(report["entries"].empty());
    const struct {
      const char* feature;
      const char* bit;
    } pairs[] = {{"filesystem.write", "write_boundary"}, {"filesystem.read", "read_boundary"},
                 {"network", "network_boundary"},        {"process", "process_boundary"},
                 {"environment", "env_scrub"},           {"limits", "resource_limits"}};
    for (const json& entry : report["entries"]) {
      CHECK(Keys(entry) == std::set<std::string>{"feature", "status", "detail"});
      for (const auto& pair : pairs) {
        const std::string feature = entry["feature"];
        if (feature.starts_with(pair.feature) && entry["status"] == "enforced") {
          INFO(feature);
          CHECK(bits[pair.bit] == true);
        }
      }
    }
  }
}

TEST_CASE("each run has an execution id of its own") {
  const Ground ground;
  const json first = RunText(ground, {}, "true").report["execution_id"];
  CHECK(RunText(ground, {}, "true").report["execution_id"] != first);
}

TEST_CASE("every way to end has its kind in the report") {
  const Ground ground;
  const auto kind = [](const CordonRun& run) { return ReportAt(run, "/outcome/kind"); };
  CHECK(kind(RunText(ground, {}, "exit 3")) == "exited");
  CHECK(kind(RunText(ground, {}, "kill -ABRT $$")) == "signaled");

  const CordonRun late = RunInside(ground, {"--timeout", "300ms", "--", "sleep", "30"});
  CHECK(kind(late) == "timed_out");
  CHECK(ReportAt(late, "/outcome/wall_ms").get<long>() >= 290);

  const CordonRun loud = RunText(ground, {"--max-output", "10k", "--timeout", "15s"}, "yes");
  CHECK(kind(loud) == "output_limit");
  CHECK(ReportAt(loud, "/outcome/output_truncated") == true);

  const CordonRun refused =
      RunText(ground, {"--net-any", "--require", "network_boundary"}, "echo ran");
  Expect(refused).NotStarted();
  CHECK(kind(refused) == "not_started");
  CHECK_FALSE(ReportAt(refused, "/outcome/error/code").get<std::string>().empty());
  CHECK_FALSE(ReportAt(refused, "/outcome/error/message").get<std::string>().empty());
}

TEST_CASE("a run that a signal to cordon ended is reported as cancelled") {
  const Ground ground;
  Child child(InsideCommand(ground, {"-c", "echo began; sleep 30"}), InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  child.Signal(SIGTERM);
  const Ended ended = child.Finish();
  CHECK(ended.in_time);
  CHECK(ended.status == 128 + SIGTERM);
  CHECK(ReadReport(ground)["outcome"]["kind"] == "cancelled");
}

TEST_CASE("the report tells what the whole tree used") {
  const Ground ground;
  const CordonRun run = RunText(ground, {}, R"(python3 -c '
import time
block = bytearray(96 << 20)
end = time.process_time() + 0.4
while time.process_time() < end: pass' ; true)");
  Expect(run).Status(0);
  CHECK(ReportAt(run, "/outcome/max_rss_bytes").get<long>() > 96 << 20);
  CHECK(ReportAt(run, "/outcome/cpu_ms").get<long>() >= 400);
  CHECK(ReportAt(run, "/outcome/wall_ms").get<long>() >= 400);
}

TEST_CASE("a report on standard error leaves the output alone") {
  const Ground ground;
  const CordonRun run =
      RunCordon(ground, {"run", "-w", ground.workspace(), "--report", "-", "-c", "echo output"});
  Expect(run).Status(0).OutIs("output\n");
  CHECK(json::parse(run.err)["outcome"]["kind"] == "exited");
}

TEST_CASE("a report in the workspace is neither replaced nor led away by the command") {
  const Ground ground;
  const std::string report = ground.PathOf("report.json");
  const CordonRun run =
      RunCordon(ground, {"run", "-w", ground.workspace(), "--report", report, "-c",
                         "rm -f report.json; ln -s ../outside/stolen report.json; echo ran"});
  Expect(run).OutIs("ran\n");
  CHECK_FALSE(ground.Exists(ground.outside() + "/stolen"));
  CHECK(json::parse(ground.Read("report.json"))["version"] == 1);
}

TEST_CASE("the quiet option leaves nothing of cordon's own on standard error") {
  const Ground ground;
  const CordonRun run = RunText(ground, {"--quiet"}, "echo ran; exit 2");
  Expect(run).Status(2).OutIs("ran\n");
  CHECK(run.err.empty());
}

TEST_CASE("refused paths are listed with the option that allows them when asked for") {
  const Ground ground;
  ground.MakeFile(ground.outside() + "/file", "before");
  ground.MakeFile("hidden/key", "CONFIDENTIAL");
  const CordonRun run = RunText(
      ground, {"--explain", "--read", ground.outside(), "--deny-read", ground.PathOf("hidden")},
      "(echo x >" + ground.outside() + "/file) 2>/dev/null; cat hidden/key 2>/dev/null; echo ran");
  Expect(run).Status(0).OutIs("ran\n");
  const std::string denials = run.report["denials"].dump();
  INFO(denials);
  CHECK(Has(denials, ground.outside() + "/file"));
  CHECK(Has(denials, ground.PathOf("hidden/key")));
  CHECK(Has(denials, "--write"));
}

TEST_CASE("refused paths are not listed when nobody asks for them") {
  const Ground ground;
  ground.MakeFile(ground.outside() + "/file", "before");
  for (const std::string backend : {"namespaces", "landlock"}) {
    const CordonRun run = RunText(ground, {"--backend", backend},
                                  "cat " + ground.outside() + "/file 2>/dev/null; echo ran");
    if (run.status == 125 && Has(run.err, "tier")) continue;
    Expect(run).Status(0).OutIs("ran\n");
    CHECK(run.report["denials"].empty());
  }
}

}  // namespace
}  // namespace cordon::test
