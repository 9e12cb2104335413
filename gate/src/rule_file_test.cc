#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cordon/gate/rules.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "temporary_folder.h"

namespace cordon {
namespace {

using internal::TemporaryFolder;
using Verdict = RuleDecision::Verdict;

Rule AllowExact(std::string_view text) {
  return MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, text).value();
}

Request RequestOf(const std::string& text) {
  Request request;
  request.command = Command::Shell(text, "/code");
  request.authority = std::vector<Requirement>{RequireCommand(*request.command)};
  return request;
}

absl::StatusOr<Verdict> Ask(RuleSet& rules, const std::string& text) {
  const Request request = RequestOf(text);
  const auto decision = rules.Decide(RequireCommand(*request.command), request);
  if (!decision.ok()) return decision.status();
  return decision->verdict;
}

constexpr std::string_view kGood =
    R"({"version":1,"rules":[{"id":"a","effect":"deny","match":"family","text":"rm",)"
    R"("when":"2026-01-31T12:00:00.000Z"}]})";

TEST_CASE("rules survive a file") {
  const TemporaryFolder folder;
  Rule path = MakeRule(RuleEffect::kDeny, RuleMatch::kTree, "write:/x").value();
  path.directory = "/code";
  path.who = "someone";
  path.why = "a \"reason\"\n";
  path.until = std::chrono::system_clock::time_point(std::chrono::seconds(4102444800));
  path.when = std::chrono::system_clock::time_point(std::chrono::seconds(1769860800));
  path.id = "given";
  Rule bound = AllowExact("make");
  bound.uses = 7;
  bound.programs = {{"/usr/bin/make", std::string(64, 'a')}, {"/usr/bin/ld", ""}};
  bound.id = "bound";
  bound.when = path.when;
  REQUIRE(AddToRuleFile(folder.Path("rules"), {path, AllowExact("make \xc3\xbc"), bound}).ok());
  const std::vector<Rule> rules = LoadRuleFile(folder.Path("rules")).value();
  REQUIRE(rules.size() == 3);
  CHECK(rules[2] == bound);
  CHECK(rules[0] == path);
  CHECK(rules[1].text == "make \xc3\xbc");
  CHECK_FALSE(rules[1].id.empty());
  struct stat info {};
  REQUIRE(stat(folder.Path("rules").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
}

TEST_CASE("a rule that is there already is not added again") {
  const TemporaryFolder folder;
  REQUIRE(AddToRuleFile(folder.Path("rules"), {AllowExact("make")}).ok());
  REQUIRE(AddToRuleFile(folder.Path("rules"), {AllowExact("make"), AllowExact("ls")}).ok());
  CHECK(LoadRuleFile(folder.Path("rules"))->size() == 2);
}

TEST_CASE("a rule is removed by its id") {
  const TemporaryFolder folder;
  REQUIRE(AddToRuleFile(folder.Path("rules"), {AllowExact("make"), AllowExact("ls")}).ok());
  const std::string id = LoadRuleFile(folder.Path("rules")).value()[0].id;
  CHECK(RemoveFromRuleFile(folder.Path("rules"), id).ok());
  CHECK(Is(RemoveFromRuleFile(folder.Path("rules"), id), ErrorCode::kNotFound));
  CHECK(LoadRuleFile(folder.Path("rules")).value()[0].text == "ls");
}

TEST_CASE("a damaged file is refused with the reason and never overwritten") {
  const std::pair<std::string, std::string_view> damaged[] = {
      {"", "malformed"},
      {"{", "malformed"},
      {std::string(kGood) + "x", "malformed"},
      {R"({"version":2,"rules":[]})", "version"},
      {R"({"version":1})", "\"rules\" is missing"},
      {R"({"version":1,"rules":[],"rulse":[]})", "unknown key \"rulse\""},
      {R"({"version":1,"version":1,"rules":[]})", "there twice"},
      {R"({"version":1,"rules":{}})", "not an array"},
      {R"({"version":"1","rules":[]})", "not a whole number"},
      {R"({"version":1,"rules":[{"id":"a"}]})", "is missing"},
      {R"({"version":1,"rules":[{"id":"a","effect":"allow","match":"family","text":"rm","x":"",)"
       R"("when":"2026-01-31T12:00:00.000Z"}]})",
       "unknown key \"x\""},
      {R"({"version":1,"rules":[{"id":"a","effect":"alow","match":"family","text":"rm",)"
       R"("when":"2026-01-31T12:00:00.000Z"}]})",
       "effect"},
      {R"({"version":1,"rules":[{"id":"a","effect":"deny","match":"family","text":"rm -rf",)"
       R"("when":"2026-01-31T12:00:00.000Z"}]})",
       "family"},
      {R"({"version":1,"rules":[{"id":"a","effect":"deny","match":"family","text":" rm",)"
       R"("when":"2026-01-31T12:00:00.000Z"}]})",
       "canonical"},
      {R"({"version":1,"rules":[{"id":"a","effect":"deny","match":"family","text":"rm",)"
       R"("when":"yesterday"}]})",
       "time"},
      {"{\"version\":1,\"rules\":[{\"id\":\"\xff\"}]}", "malformed"},
      {std::string(20, '[') + std::string(20, ']'), "deep"},
  };
  for (const auto& [content, reason] : damaged) {
    CAPTURE(content);
    const TemporaryFolder folder;
    const std::string path = folder.Write("rules", content);
    const absl::Status loaded = LoadRuleFile(path).status();
    CHECK(Is(loaded, ErrorCode::kInvalidRules));
    CHECK(std::string(loaded.message()).find(reason) != std::string::npos);
    CHECK(Is(AddToRuleFile(path, {AllowExact("make")}), ErrorCode::kInvalidRules));
    CHECK(Is(RuleSet::Open(path, true).status(), ErrorCode::kInvalidRules));
    CHECK(folder.Read("rules") == content);
  }
}

TEST_CASE("a file that others could have made is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.Write("rules", kGood);
  REQUIRE(LoadRuleFile(path).ok());

  REQUIRE(chmod(path.c_str(), 0622) == 0);
  CHECK(Is(LoadRuleFile(path).status(), ErrorCode::kInvalidRules));
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  CHECK(LoadRuleFile(path).ok());

  REQUIRE(link(path.c_str(), folder.Path("other").c_str()) == 0);
  CHECK(Is(LoadRuleFile(path).status(), ErrorCode::kInvalidRules));
  REQUIRE(unlink(folder.Path("other").c_str()) == 0);

  REQUIRE(symlink(path.c_str(), folder.Path("link").c_str()) == 0);
  CHECK(Is(LoadRuleFile(folder.Path("link")).status(), ErrorCode::kInvalidRules));
  CHECK(Is(AddToRuleFile(folder.Path("link"), {AllowExact("x")}), ErrorCode::kInvalidRules));

  REQUIRE(mkfifo(folder.Path("fifo").c_str(), 0600) == 0);
  CHECK(Is(LoadRuleFile(folder.Path("fifo")).status(), ErrorCode::kInvalidRules));
  CHECK(Is(LoadRuleFile(folder.Path()).status(), ErrorCode::kInvalidRules));
  folder.Write("large", std::string(1024 * 1024 + 1, ' '));
  CHECK(Is(LoadRuleFile(folder.Path("large")).status(), ErrorCode::kInvalidRules));
}

TEST_CASE("a missing rule file is an error unless it may be created") {
  const TemporaryFolder folder;
  CHECK(Is(LoadRuleFile(folder.Path("rules")).status(), ErrorCode::kNotFound));
  CHECK(Is(RuleSet::Open(folder.Path("rules"), false).status(), ErrorCode::kNotFound));
  const auto rules = RuleSet::Open(folder.Path("rules"), true).value();
  CHECK(Ask(*rules, "make").value() == Verdict::kNone);
  REQUIRE(rules->Add({AllowExact("make")}, true).ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kAllow);
  CHECK(LoadRuleFile(folder.Path("rules"))->size() == 1);
}

TEST_CASE("changes of the file by others are seen at once") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("rules");
  const auto rules = RuleSet::Open(path, true).value();
  REQUIRE(AddToRuleFile(path, {AllowExact("make")}).ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kAllow);
  REQUIRE(
      AddToRuleFile(path, {MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "make").value()})
          .ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kDeny);
  folder.Write("rules", "damaged");
  CHECK(Is(Ask(*rules, "make").status(), ErrorCode::kInvalidRules));
  REQUIRE(unlink(path.c_str()) == 0);
  CHECK(Is(Ask(*rules, "make").status(), ErrorCode::kNotFound));
}

TEST_CASE("session rules stay in memory") {
  const TemporaryFolder folder;
  const auto rules = RuleSet::Open(folder.Path("rules"), true).value();
  REQUIRE(rules->Add({AllowExact("make")}, false).ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kAllow);
  CHECK(Is(LoadRuleFile(folder.Path("rules")).status(), ErrorCode::kNotFound));
  const std::string id = rules->List().value()[0].id;
  CHECK(rules->Remove(id).ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kNone);
  CHECK_FALSE(rules->Remove(id).ok());
}

TEST_CASE("without a file nothing can be stored for good") {
  const auto rules = RuleSet::InMemory();
  CHECK_FALSE(rules->has_file());
  CHECK(Is(rules->Add({AllowExact("make")}, true), ErrorCode::kInvalidOption));
  CHECK(rules->Add({AllowExact("make")}, false).ok());
}

TEST_CASE("a rule with a number of uses decides that often, in memory and in the file") {
  const TemporaryFolder folder;
  const auto rules = RuleSet::Open(folder.Path("rules"), true).value();
  Rule rule = AllowExact("make");
  rule.id = "twice";
  rule.uses = 2;
  const bool persist = GENERATE(false, true);
  REQUIRE(rules->Add({rule}, persist).ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kAllow);
  CHECK(rules->TakeUses({"twice"}));
  CHECK(Ask(*rules, "make").value() == Verdict::kAllow);
  CHECK(rules->TakeUses({"twice"}));
  CHECK(Ask(*rules, "make").value() == Verdict::kNone);
  CHECK_FALSE(rules->TakeUses({"twice"}));
  CHECK_FALSE(rules->TakeUses({"never there"}));
  // Storing it again sets the number.
  REQUIRE(rules->Add({rule}, true).ok());
  CHECK(Ask(*rules, "make").value() == Verdict::kAllow);
}

TEST_CASE("two programs that share a file share the uses of its rules") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("rules");
  Rule rule = AllowExact("make");
  rule.id = "some";
  rule.uses = 10;
  REQUIRE(AddToRuleFile(path, {rule}).ok());
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&path, &taken] {
      const auto mine = RuleSet::Open(path, false).value();
      for (int j = 0; j < 5; ++j) {
        (void)Ask(*mine, "make").ok();
        if (mine->TakeUses({"some"})) ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == 10);
  CHECK(LoadRuleFile(path).value()[0].uses == 0);
}

TEST_CASE("what was used is counted beside the file, and damage there loses only the counts") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("rules");
  const auto rules = RuleSet::Open(path, true).value();
  Rule rule = AllowExact("make");
  rule.id = "counted";
  REQUIRE(rules->Add({rule}, true).ok());
  REQUIRE(Ask(*rules, "make").value() == Verdict::kAllow);
  CHECK(rules->TakeUses({"counted"}));
  CHECK(rules->TakeUses({"counted"}));
  CHECK(LoadRuleUsage(path)["counted"].count == 2);
  folder.Write("rules.used", "damaged");
  CHECK(LoadRuleUsage(path).empty());
  CHECK(rules->TakeUses({"counted"}));
  CHECK(LoadRuleUsage(path)["counted"].count == 1);
}

TEST_CASE("a rule that contradicts itself is neither stored nor read") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("rules");
  Rule bound = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value();
  bound.programs = {{"/bin/rm", ""}};
  CHECK(Is(AddToRuleFile(path, {bound}), ErrorCode::kInvalidOption));
  Rule limited = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value();
  limited.uses = 3;
  CHECK(Is(AddToRuleFile(path, {limited}), ErrorCode::kInvalidOption));
  folder.Write("rules",
               R"({"version":1,"rules":[{"id":"a","effect":"deny","match":"family","text":"rm",)"
               R"("uses":1,"when":"2026-01-31T12:00:00.000Z"}]})");
  CHECK(Is(LoadRuleFile(path).status(), ErrorCode::kInvalidRules));
}

TEST_CASE("several writers lose no rule") {
  const TemporaryFolder folder;
  const std::string path = folder.Path("rules");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&path, i] {
      for (int j = 0; j < 5; ++j) {
        (void)AddToRuleFile(path, {AllowExact("make " + std::to_string(i * 10 + j))});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(LoadRuleFile(path)->size() == 20);
}

}  // namespace
}  // namespace cordon
