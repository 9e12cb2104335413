#include "program_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "rule_match.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace cordon::internal {
namespace {

using Verdict = RuleDecision::Verdict;

// Two folders of programs and a workspace.
class Programs {
 public:
  Programs() {
    for (const char* name : {"first", "second", "work"}) {
      REQUIRE(mkdir(folder_.Path(name).c_str(), 0755) == 0);
    }
  }
  std::string Make(const std::string& name, const std::string& content = "#!/bin/sh\n") const {
    const std::string path = folder_.Write(name, content);
    REQUIRE(chmod(path.c_str(), 0755) == 0);
    return path;
  }
  [[nodiscard]] std::string work() const { return folder_.Path("work"); }
  [[nodiscard]] ProgramPath path() const {
    return ProgramPath(folder_.Path("first") + ":relative::" + folder_.Path("second"));
  }
  [[nodiscard]] Verdict Decide(const Rule& rule, const std::string& text) const {
    Request request;
    request.command = Command::Shell(text, work());
    const Requirement need = RequireCommand(*request.command);
    return DecideByRules({&rule, 1}, need, request, {}, path()).verdict;
  }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

Rule Allow(RuleMatch match, std::string_view text) {
  return MakeRule(RuleEffect::kAllow, match, text).value();
}

TEST_CASE("a program is looked for in every folder of the search path, links resolved") {
  const Programs programs;
  const std::string first = programs.Make("first/tool");
  CHECK(programs.path().Candidates("tool", "/") == std::vector<std::string>{first});
  const std::string second = programs.Make("second/tool");
  CHECK(programs.path().Candidates("tool", "/") == std::vector<std::string>{first, second});
  REQUIRE(unlink(second.c_str()) == 0);
  REQUIRE(symlink(first.c_str(), second.c_str()) == 0);
  CHECK(programs.path().Candidates("tool", "/") == std::vector<std::string>{first});
  CHECK(programs.path().Candidates("work/../first/tool", programs.folder().Path()) ==
        std::vector<std::string>{first});
  CHECK(programs.path().Candidates("absent", "/").empty());
  programs.folder().Write("first/plain", "no program");
  CHECK(programs.path().Candidates("plain", "/").empty());
}

TEST_CASE("a rule that is bound to a program does not hold for another of that name") {
  const Programs programs;
  const std::string tool = programs.Make("second/make");
  Rule exact = Allow(RuleMatch::kExactCommand, "make all");
  Rule family = Allow(RuleMatch::kCommandFamily, "make");
  exact.programs = family.programs = {{tool, ""}};
  CHECK(programs.Decide(exact, "make all") == Verdict::kAllow);
  CHECK(programs.Decide(family, "make all") == Verdict::kAllow);

  programs.Make("first/make");
  CHECK(programs.Decide(exact, "make all") == Verdict::kNone);
  CHECK(programs.Decide(family, "make all") == Verdict::kNone);
  exact.programs.clear();
  CHECK(programs.Decide(exact, "make all") == Verdict::kAllow);
}

TEST_CASE("every program of a compound has to be one of those named") {
  const Programs programs;
  const std::string one = programs.Make("first/one");
  const std::string two = programs.Make("first/two");
  Rule rule = Allow(RuleMatch::kExactCommand, "one && cd sub && two");
  rule.programs = {{one, ""}};
  CHECK(programs.Decide(rule, "one && cd sub && two") == Verdict::kNone);
  rule.programs.push_back({two, ""});
  CHECK(programs.Decide(rule, "one && cd sub && two") == Verdict::kAllow);
}

TEST_CASE("a bound rule does not hold where the search path is the text's own or unknown") {
  const Programs programs;
  const std::string tool = programs.Make("first/tool");
  for (const std::string text : {"PATH=/x tool", "$X tool", "tool $(id)"}) {
    Rule rule = Allow(RuleMatch::kExactCommand, text);
    CHECK(programs.Decide(rule, text) == Verdict::kAllow);
    rule.programs = {{tool, ""}};
    CHECK(programs.Decide(rule, text) == Verdict::kNone);
  }
}

TEST_CASE("a rule that is bound to content does not hold for other content") {
  const Programs programs;
  const std::string tool = programs.Make("first/tool");
  Rule rule = Allow(RuleMatch::kExactCommand, "tool");
  rule.programs = {MakeRuleProgram(tool, true).value()};
  CHECK(programs.Decide(rule, "tool") == Verdict::kAllow);
  programs.Make("first/tool", "#!/bin/sh\nid\n");
  CHECK(programs.Decide(rule, "tool") == Verdict::kNone);
  CHECK_FALSE(MakeRuleProgram(programs.folder().Path("absent"), true).ok());
}

TEST_CASE("the programs of a plain text are told, of another they are not") {
  const Programs programs;
  const std::string tool = programs.Make("first/tool");
  const ProgramPath path = programs.path();
  CHECK(path.ProgramsOf(ReadShellText("tool a && cd b; tool c"), "/") ==
        std::vector<RuleProgram>{{tool, ""}});
  CHECK(path.ProgramsOf(ReadShellText("PATH=/x tool"), "/").empty());
  CHECK(path.ProgramsOf(ReadShellText("$X"), "/").empty());
  programs.Make("second/tool");
  CHECK(path.ProgramsOf(ReadShellText("tool"), "/").empty());
}

TEST_CASE("a family does not follow a cd through a link that leads out") {
  const Programs programs;
  const Rule rule = Allow(RuleMatch::kCommandFamily, "make");
  REQUIRE(mkdir((programs.work() + "/sub").c_str(), 0755) == 0);
  REQUIRE(symlink("/", (programs.work() + "/out").c_str()) == 0);
  CHECK(programs.Decide(rule, "cd sub && make") == Verdict::kAllow);
  CHECK(programs.Decide(rule, "cd sub/new && make") == Verdict::kAllow);
  CHECK(programs.Decide(rule, "cd out && make") == Verdict::kNone);
  CHECK(programs.Decide(rule, "cd sub; cd ../out && make") == Verdict::kNone);
  CHECK(programs.Decide(rule, "(cd sub && make); cd out && make") == Verdict::kNone);
  CHECK(programs.Decide(rule, "cd .. && make") == Verdict::kNone);
  CHECK(programs.Decide(rule, "cd /tmp && make") == Verdict::kNone);
  CHECK(programs.Decide(rule, "cd && make") == Verdict::kNone);
}

}  // namespace
}  // namespace cordon::internal
