// The gate of the command line: who answers, what stored rules cover, and what they deny.

#include <string>

#include "integration/support/command_profile.h"
#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class RulesGround : public Ground {
 public:
  void Add(const std::string& effect, const std::string& match, const std::string& text) const {
    Expect(RunCordon(*this, {"rules", "add", "--rules", rules(), effect, match, text}), text)
        .Status(0);
  }
  [[nodiscard]] std::string rules() const { return root() + "/rules.json"; }
  [[nodiscard]] int Why(const Words& policy, const std::string& text) const {
    Words words = {"why", "exec", "-w", workspace(), "--rules", rules()};
    words.insert(words.end(), policy.begin(), policy.end());
    words.insert(words.end(), {"-c", text});
    return RunCordon(*this, words).status;
  }
};

constexpr int kAllowed = 0;
constexpr int kGated = 1;
constexpr int kDenied = 2;

TEST_CASE("with nobody to ask a gated command is refused soon and said to be so") {
  const Ground ground;
  const std::string profile = CommandProfile(ground, "gated");
  for (const Words& gate : {Words{}, Words{"--gate", "ask"}, Words{"--gate", "deny"}}) {
    Words policy = {"-p", profile};
    policy.insert(policy.end(), gate.begin(), gate.end());
    const CordonRun run = RunText(ground, policy, "echo ran >ran; echo ran");
    Expect(run).NotStarted().Below(seconds(4));
    CHECK(ReportAt(run, "/outcome/kind") == "not_started");
    CHECK_FALSE(ReportAt(run, "/outcome/error/code").is_null());
    CHECK_FALSE(ground.Exists("ran"));
  }
}

TEST_CASE("a gate that approves everything is named in the report with the grant that it gave") {
  const Ground ground;
  const CordonRun run =
      RunText(ground, {"-p", CommandProfile(ground, "gated"), "--gate", "approve"}, "echo ran");
  Expect(run).Status(0).OutIs("ran\n");
  CHECK(Has(run.report["entries"].dump(), "approve"));
  REQUIRE(run.report["grants"].size() == 1);
  CHECK(run.report["grants"][0]["class"] == "command.start.v1");
  CHECK(run.report["grants"][0]["consumed"] == true);
}

TEST_CASE("nobody can approve what the profile denies") {
  const Ground ground;
  const Words policy = {"-p", CommandProfile(ground, "deny"), "--gate", "approve"};
  Expect(RunText(ground, policy, "echo ran")).NotStarted();
}

TEST_CASE("why tells an allowed, a gated and a denied command apart") {
  const RulesGround ground;
  ground.Add("allow", "exact", "true");
  CHECK(ground.Why({}, "echo x") == kAllowed);
  CHECK(ground.Why({"-p", CommandProfile(ground, "gated")}, "echo x") == kGated);
  CHECK(ground.Why({"-p", CommandProfile(ground, "deny")}, "echo x") == kDenied);
}

TEST_CASE("answers on standard input are not taken for a person's") {
  const Ground ground;
  const std::string profile = CommandProfile(ground, "gated");
  for (const char* answer : {"y\n", "yes\n", "a\n", "\n"}) {
    RunOptions options;
    for (int i = 0; i < 500; ++i) options.input += answer;
    Expect(RunText(ground, {"-p", profile, "--gate", "ask"}, "echo ran >ran", options))
        .NotStarted();
    CHECK_FALSE(ground.Exists("ran"));
  }
}

TEST_CASE("keys that were typed before the question approve nothing") {
  const Ground ground;
  const Words command = InsideCommand(
      ground, {"-p", CommandProfile(ground, "gated"), "--gate", "ask", "-c", "echo ran >ran"});
  for (const char* keys : {"y\n", "y", "\r", "a\n"}) {
    ChildOptions options = InsideOptions(ground);
    options.on_terminal = true;
    Child child(command, options);
    REQUIRE(child.Write(keys));
    // It goes on to wait for an answer, or takes the silence for none.
    const Ended ended = child.Finish({}, seconds(2));
    CHECK(ended.status != 0);
    CHECK_FALSE(ground.Exists("ran"));
  }
}

TEST_CASE("an exact rule allows that text and no other") {
  const RulesGround ground;
  const Words gated = {"-p", CommandProfile(ground, "gated")};
  ground.Add("allow", "exact", "make test");
  CHECK(ground.Why(gated, "make test") == kAllowed);
  for (const char* text : {"make test2", "make  test x", "make test; id", "make", "MAKE test"}) {
    INFO(text);
    CHECK(ground.Why(gated, text) == kGated);
  }
}

TEST_CASE("an allowed family covers plain uses and their sequences, and nothing that hides more") {
  const RulesGround ground;
  const Words gated = {"-p", CommandProfile(ground, "gated")};
  ground.Add("allow", "family", "git status");
  ground.Add("allow", "family", "git log");
  for (const char* text : {"git status", "git status -s", "  git   status ", "git status 'a b'",
                           "git status && git log", "git log; git status"}) {
    INFO(text);
    CHECK(ground.Why(gated, text) == kAllowed);
  }
  for (const char* text : {"git",
                           "git push",
                           "git statusx",
                           "id",
                           "git status; id",
                           "git status && id",
                           "git status | sh",
                           "git status & id",
                           "(git status; id)",
                           "git status $(id)",
                           "git status `id`",
                           "git status \"$(id)\"",
                           "git status <(id)",
                           "if git status; then id; fi",
                           "eval git status",
                           "git status \"open",
                           "git() { id; }; git status",
                           "git status\nid",
                           "git -c core.pager=id status",
                           "X=1 git status",
                           "git log --output=x",
                           "cd / && git status",
                           "git status >x",
                           "./git status",
                           "git status ${x:=$(id)}"}) {
    INFO(text);
    CHECK(ground.Why(gated, text) == kGated);
  }
}

TEST_CASE("a run agrees with what why says about a family") {
  const RulesGround ground;
  MakeRepository(ground, ".");
  ground.Add("allow", "family", "git status");
  const Words policy = {"-p", CommandProfile(ground, "gated"), "--rules", ground.rules()};
  Expect(RunText(ground, policy, "git status")).Status(0).Out("On branch main");
  Expect(RunText(ground, policy, "git status; echo x >ran")).NotStarted();
  CHECK_FALSE(ground.Exists("ran"));
}

TEST_CASE("a denied family is denied also where commands are allowed, and in disguise asks") {
  const RulesGround ground;
  ground.Add("deny", "family", "rm");
  ground.Add("allow", "family", "rm");
  for (const char* text : {"ls", "echo rm", "grep rm file", "git rm-like"}) {
    INFO(text);
    CHECK(ground.Why({}, text) == kAllowed);
  }
  for (const char* text : {"rm", "rm x", "rm -rf build", "/bin/rm x", "true; rm x", "ls | rm x"}) {
    INFO(text);
    CHECK(ground.Why({}, text) == kDenied);
  }
  for (const char* text : {"'rm' x", "r\"\"m x", "\\rm x", "sh -c 'rm x'", "env rm x", "xargs rm",
                           "command rm x", "eval 'rm x'", "$(echo rm) x", "x=rm; $x y", "(rm x)",
                           "find . -exec rm {} +", "if true; then rm x; fi", "X=1 rm x"}) {
    INFO(text);
    CHECK(ground.Why({}, text) != kAllowed);
  }
}

TEST_CASE("a denied family starts nothing whoever approves") {
  const RulesGround ground;
  ground.Add("deny", "family", "rm");
  ground.MakeFile("kept", "before");
  for (const Words& gate : {Words{}, Words{"--gate", "approve"}}) {
    Words policy = {"--rules", ground.rules()};
    policy.insert(policy.end(), gate.begin(), gate.end());
    Expect(RunText(ground, policy, "rm kept; echo ran")).NotStarted();
    CHECK(ground.Read("kept") == "before");
    Expect(RunText(ground, policy, "echo ran")).Status(0).OutIs("ran\n");
  }
}

// A profile in which commands are allowed and the folder outside is gated.
std::string GatedOutside(const Ground& ground) {
  json profile = CommandProfileJson(ground, "allow");
  profile["additional_roots"] = {
      {{"path", ground.outside()}, {"read", "gated"}, {"write", "gated"}}};
  return ground.MakeFile(ground.root() + "/outside.json", profile.dump());
}

TEST_CASE("a redirection to a gated file is asked about, and open once it is granted") {
  const RulesGround ground;
  const Words policy = {"-p", GatedOutside(ground), "--rules", ground.rules()};
  const auto with = [&policy](const std::string& gate) {
    Words words = policy;
    words.insert(words.end(), {"--gate", gate});
    return words;
  };
  ground.Add("deny", "family", "no-such-program");  // So that there is a rule file.
  ground.MakeFile(ground.outside() + "/log", "first\n");
  const std::string append = "echo second >>" + ground.outside() + "/log";
  const std::string make = "echo new >" + ground.outside() + "/new";
  Expect(RunText(ground, with("deny"), append)).NotStarted().Err(ground.outside() + "/log");
  Expect(RunText(ground, with("deny"), make)).NotStarted();
  CHECK(ground.Read(ground.outside() + "/log") == "first\n");
  CHECK_FALSE(ground.Exists(ground.outside() + "/new"));

  Expect(RunText(ground, with("approve"), append)).Status(0);
  CHECK(ground.Read(ground.outside() + "/log") == "first\nsecond\n");
  Expect(RunText(ground, with("approve"), make)).Status(0);
  CHECK(ground.Read(ground.outside() + "/new") == "new\n");

  ground.Add("allow", "tree", ground.outside());
  Expect(RunText(ground, with("deny"), "cat <" + ground.outside() + "/new")).OutIs("new\n");
  ground.Add("deny", "path", ground.outside() + "/new");
  Expect(RunText(ground, with("approve"), "cat <" + ground.outside() + "/new")).NotStarted();
}

TEST_CASE("a redirection that the profile denies fails in the command and keeps its status") {
  const RulesGround ground;
  const std::string text = "echo x >" + ground.outside() + "/x || echo refused";
  Expect(RunText(ground, {}, text)).Status(0).OutIs("refused\n");
  CHECK_FALSE(ground.Exists(ground.outside() + "/x"));
  Expect(RunText(ground, {"--write", ground.outside()}, text)).Status(0).OutIs("");
  CHECK(ground.Exists(ground.outside() + "/x"));
}

TEST_CASE("a profile that requires an audit log starts nothing without one") {
  const Ground ground;
  const std::string allowed = CommandProfile(ground, "allow");
  json profile = CommandProfileJson(ground, "allow");
  const std::string log = ground.root() + "/audit.jsonl";
  for (const char* mode : {"required", "durable"}) {
    CAPTURE(mode);
    Expect(RunText(ground, {"-p", allowed}, "echo ran")).OutIs("ran\n");
    profile["audit"] = mode;
    const std::string strict = ground.MakeFile(ground.root() + "/strict.json", profile.dump());
    Expect(RunText(ground, {"-p", strict}, "echo ran")).NotStarted().Err("--audit");
    Expect(RunText(ground, {"--ceiling", strict}, "echo ran")).NotStarted().Err("--audit");
    const std::string nowhere = ground.root() + "/missing/audit.jsonl";
    Expect(RunText(ground, {"-p", strict, "--audit", nowhere}, "echo ran")).NotStarted();
    Expect(RunText(ground, {"-p", strict, "--audit", log}, "echo ran")).OutIs("ran\n");
    Expect(RunCordon(ground, {"audit", "verify", log})).Status(0);
  }
  Expect(RunCordon(ground, {"why", "exec", "-p", ground.root() + "/strict.json", "-w",
                            ground.workspace(), "-c", "ls"}))
      .Status(0);
}

TEST_CASE("the command cannot write to the rules that bind it") {
  const Ground ground;
  const std::string rules = ground.PathOf("rules.json");
  Expect(RunCordon(ground, {"rules", "add", "--rules", rules, "deny", "family", "rm"})).Status(0);
  const std::string before = ground.Read("rules.json");
  Expect(RunText(ground, {"--rules", rules},
                 "echo '{}' >rules.json; unlink rules.json; mv rules.json r; echo finished"))
      .Out("finished");
  CHECK(ground.Read("rules.json") == before);
}

}  // namespace
}  // namespace cordon::test
