// The subcommands about what is kept: stored rules and the audit log.

#include <string>

#include "integration/support/command_profile.h"
#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

class KeptGround : public Ground {
 public:
  [[nodiscard]] std::string rules() const { return root() + "/rules.json"; }
  [[nodiscard]] std::string audit() const { return root() + "/audit.jsonl"; }
  [[nodiscard]] CordonRun Add(Words rule) const {
    rule.insert(rule.begin(), {"rules", "add", "--rules", rules()});
    return RunCordon(*this, rule);
  }
  [[nodiscard]] json List() const {
    return json::parse(RunCordon(*this, {"rules", "list", "--json", "--rules", rules()}).out,
                       nullptr, false);
  }
  [[nodiscard]] CordonRun Run(const std::string& text, const Words& more = {}) const {
    Words policy = {"-p", profile_, "--rules", rules()};
    policy.insert(policy.end(), more.begin(), more.end());
    return RunText(*this, policy, text);
  }

 private:
  const std::string profile_ = CommandProfile(*this, "gated");
};

TEST_CASE("a rule for so many uses allows so many runs, and the list says how many are left") {
  const KeptGround ground;
  Expect(ground.Add({"allow", "exact", "echo ran", "--uses", "2"})).Status(0).Out("2 times");
  CHECK(ground.List()[0]["uses_left"] == 2);
  Expect(ground.Run("echo ran")).Status(0);
  CHECK(ground.List()[0]["uses_left"] == 1);
  CHECK(ground.List()[0]["used"] == 1);
  Expect(ground.Run("echo ran")).Status(0);
  Expect(ground.Run("echo ran")).NotStarted();
  Expect(RunCordon(ground, {"rules", "list", "--rules", ground.rules()}))
      .Status(0)
      .Out("(used up)")
      .Out("used 2 times")
      .Out("command line");
}

TEST_CASE("a rule holds until its time and in its folder") {
  const KeptGround ground;
  ground.MakeFolder("sub");
  Expect(ground.Add({"allow", "exact", "echo old", "--until", "2001-01-01T00:00:00Z"})).Status(0);
  Expect(ground.Add({"allow", "exact", "echo new", "--until", "1h"})).Status(0);
  Expect(ground.Add({"allow", "exact", "echo sub", "--in", ground.PathOf("sub")})).Status(0);
  Expect(ground.Run("echo old")).NotStarted();
  Expect(ground.Run("echo new")).Status(0);
  Expect(ground.Run("echo sub")).NotStarted();
  Expect(ground.Run("echo sub", {"-C", ground.PathOf("sub")})).Status(0);
}

TEST_CASE("a rule that is bound to a program's content does not hold for other content") {
  const KeptGround ground;
  const std::string tool = ground.MakeProgram("tool", "#!/bin/sh\necho one\n");
  Expect(ground.Add({"allow", "exact", "./tool", "--program", tool, "--content"})).Status(0);
  Expect(ground.Run("./tool")).Status(0).OutIs("one\n");
  ground.MakeProgram("tool", "#!/bin/sh\necho two\n");
  Expect(ground.Run("./tool")).NotStarted();
}

TEST_CASE("options of a rule that make no sense are refused and store nothing") {
  const KeptGround ground;
  for (const Words& rule :
       {Words{"deny", "exact", "x", "--uses", "2"},
        Words{"deny", "family", "rm", "--program", "/bin/rm"},
        Words{"allow", "network", "a.example:1", "--program", "/bin/rm"},
        Words{"allow", "exact", "x", "--until", "soon"},
        Words{"allow", "exact", "x", "--uses", "0"},
        Words{"allow", "exact", "x", "--in", "/nowhere/at/all"},
        Words{"allow", "exact", "x", "--program", "/nowhere"},
        Words{"allow", "exact", "x", "--content"}, Words{"allow", "family", "a b c"}}) {
    Expect(ground.Add(rule)).NotStarted();
    CHECK_FALSE(ground.Exists(ground.rules()));
  }
}

TEST_CASE("why net knows the stored rules, and a denial wins") {
  const KeptGround ground;
  const auto why = [&ground](const std::string& target) {
    return RunCordon(ground,
                     {"why", "net", target, "-w", ground.workspace(), "--rules", ground.rules()})
        .status;
  };
  CHECK(why("a.example:443") == 1);
  Expect(ground.Add({"allow", "network", "*.example:443"})).Status(0);
  CHECK(why("a.example:443") == 0);
  CHECK(why("a.example:80") == 1);
  Expect(ground.Add({"deny", "network", "a.example:*"})).Status(0);
  CHECK(why("a.example:443") == 2);
  CHECK(why("b.example:443") == 0);
}

TEST_CASE("a rule is removed by its id") {
  const KeptGround ground;
  Expect(ground.Add({"allow", "exact", "echo ran"})).Status(0);
  const std::string id = ground.List()[0]["id"];
  Expect(ground.Run("echo ran")).Status(0);
  Expect(RunCordon(ground, {"rules", "remove", "--rules", ground.rules(), id})).Status(0);
  Expect(ground.Run("echo ran")).NotStarted();
  Expect(RunCordon(ground, {"rules", "remove", "--rules", ground.rules(), id})).NotStarted();
}

TEST_CASE("a rule file that is not there yet starts empty, and that is said") {
  const KeptGround ground;
  const CordonRun run = ground.Run("echo ran", {"--gate", "approve"});
  Expect(run).Status(0).OutIs("ran\n").Err("was not there");
  CHECK(Has(run.report["entries"].dump(), "no stored rule held"));
  CHECK_FALSE(ground.Exists(ground.rules()));
}

TEST_CASE("a rule file that the command could make is refused while it is not there") {
  const KeptGround ground;
  const Words policy = {"--rules", ground.PathOf("rules.json")};
  Expect(RunText(ground, policy, "echo ran")).NotStarted().Err("make it first");
  ground.MakeFile("rules.json", R"({"version":1,"rules":[]})");
  Expect(RunText(ground, policy, "echo ran")).Status(0);
  Expect(RunText(ground, policy, "echo x >rules.json; echo x >rules.json.lock"));
  CHECK(ground.Read("rules.json") == R"({"version":1,"rules":[]})");
}

TEST_CASE("a damaged rule file is refused by every subcommand and stays as it is") {
  const KeptGround ground;
  ground.MakeFile(ground.rules(), "{\"version\":1,");
  const CordonRun run = ground.Run("echo ran", {"--gate", "approve"});
  Expect(run).NotStarted().Err("rule file");
  CHECK(ReportAt(run, "/outcome/error/code") == "invalid_rules");
  Expect(ground.Add({"allow", "exact", "x"})).NotStarted();
  Expect(RunCordon(ground, {"rules", "list", "--rules", ground.rules()})).NotStarted();
  CHECK(ground.Read(ground.rules()) == "{\"version\":1,");
}

TEST_CASE("the log of a run can be read, filtered and verified, and holds no credential") {
  const KeptGround ground;
  Expect(ground.Run("API_TOKEN=hunter2 true", {"--gate", "approve", "--audit", ground.audit()}))
      .Status(0);
  Expect(ground.Run("echo no", {"--audit", ground.audit()})).NotStarted();
  Expect(RunCordon(ground, {"audit", "verify", ground.audit()})).Status(0).Out("intact");
  Expect(RunCordon(ground, {"audit", "show", ground.audit()}))
      .Status(0)
      .Out("spawn")
      .Out("API_TOKEN=***")
      .NoOut("hunter2");
  CHECK_FALSE(Has(ground.Read(ground.audit()), "hunter2"));
  Expect(RunCordon(ground, {"audit", "show", "--refused", ground.audit()}))
      .Status(0)
      .Out("no_approver")
      .NoOut("spawn");
  Expect(RunCordon(ground, {"audit", "show", "--event", "spawn", ground.audit()}))
      .Out("spawn")
      .NoOut("refused");
  Expect(RunCordon(ground, {"audit", "show", "--since", "1h", "--text", "echo no", ground.audit()}))
      .Out("echo no")
      .NoOut("spawn");
  Expect(RunCordon(ground, {"audit", "show", "--since", "2999-01-01T00:00:00Z", ground.audit()}))
      .Status(0)
      .NoOut("spawn");
  const CordonRun shown =
      RunCordon(ground, {"audit", "show", "--json", "--event", "exit", ground.audit()});
  const json record = json::parse(shown.out, nullptr, false);
  CHECK(record["event"] == "exit");
}

TEST_CASE("a log that is rotated is one log, and each of its files is kept from the command") {
  const KeptGround ground;
  const Words more = {"--gate", "approve", "--audit", ground.audit(), "--audit-rotate", "1k"};
  for (int i = 0; i < 3; ++i) Expect(ground.Run("true", more)).Status(0);
  CHECK(ground.Exists(ground.audit() + ".1"));
  Expect(RunCordon(ground, {"audit", "verify", ground.audit()})).Status(0).Out("intact");
}

TEST_CASE("a log that cannot be written refuses the run") {
  const KeptGround ground;
  Expect(ground.Run("echo ran", {"--gate", "approve", "--audit", "/nowhere/at/all/log"}))
      .NotStarted()
      .Err("--audit");
}

}  // namespace
}  // namespace cordon::test
