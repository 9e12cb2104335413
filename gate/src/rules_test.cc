#include "cordon/gate/rules.h"

#include <string>
#include <string_view>

#include "cordon/sdk/status.h"
#include "rule_match.h"
#include "support/catch.h"

namespace cordon {
namespace {

using Verdict = RuleDecision::Verdict;
using TimePoint = std::chrono::system_clock::time_point;

Rule MustMake(RuleEffect effect, RuleMatch match, std::string_view text) {
  Rule rule = MakeRule(effect, match, text).value();
  rule.id = std::string(RuleMatchName(match)) + "-" + std::string(RuleEffectName(effect));
  return rule;
}
Rule Allow(RuleMatch match, std::string_view text) {
  return MustMake(RuleEffect::kAllow, match, text);
}
Rule Deny(RuleMatch match, std::string_view text) {
  return MustMake(RuleEffect::kDeny, match, text);
}

Request CommandRequest(const Command& command) {
  Request request;
  request.command = command;
  request.authority = std::vector<Requirement>{RequireCommand(command)};
  return request;
}

RuleDecision DecideCommand(const std::vector<Rule>& rules, const Command& command) {
  return internal::DecideByRules(rules, RequireCommand(command), CommandRequest(command),
                                 TimePoint{}, internal::ProgramPath(""));
}
Verdict OnText(const std::vector<Rule>& rules, std::string_view text) {
  return DecideCommand(rules, Command::Shell(std::string(text), "/code")).verdict;
}

Verdict OnTarget(const std::vector<Rule>& rules, std::string_view target) {
  const Requirement requirement = RequireNetwork(ParseNetworkTarget(target).value());
  return internal::DecideByRules(rules, requirement, Request{}, TimePoint{},
                                 internal::ProgramPath(""))
      .verdict;
}

Verdict OnPath(const std::vector<Rule>& rules, CapabilityKind kind, PathShape shape,
               std::string_view path) {
  const Requirement requirement = RequirePath(kind, shape, path).value();
  return internal::DecideByRules(rules, requirement, Request{}, TimePoint{},
                                 internal::ProgramPath(""))
      .verdict;
}

constexpr CapabilityKind kRead = CapabilityKind::kFilesystemRead;
constexpr CapabilityKind kWrite = CapabilityKind::kFilesystemWrite;

TEST_CASE("an exact rule holds for the whole command only") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kExactCommand, "make test")};
  CHECK(OnText(rules, "make test") == Verdict::kAllow);
  CHECK(OnText(rules, "make test ") == Verdict::kNone);
  CHECK(OnText(rules, "make test; id") == Verdict::kNone);
  CHECK(OnText({}, "make test") == Verdict::kNone);
  CHECK(DecideCommand(rules, Command::Argv({"make", "test"}, "/code")).verdict == Verdict::kNone);
}

TEST_CASE("an exact denial holds for the same words as argv") {
  const std::vector<Rule> rules = {Deny(RuleMatch::kExactCommand, "rm -rf x")};
  CHECK(OnText(rules, "rm -rf x") == Verdict::kDeny);
  CHECK(DecideCommand(rules, Command::Argv({"rm", "-rf", "x"}, "/code")).verdict == Verdict::kDeny);
  CHECK(DecideCommand(rules, Command::Argv({"rm", "-rf x"}, "/code")).verdict == Verdict::kNone);
}

TEST_CASE("a denial wins over every allow") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kExactCommand, "rm -rf build"),
                                   Allow(RuleMatch::kCommandFamily, "rm"),
                                   Deny(RuleMatch::kCommandFamily, "rm")};
  CHECK(OnText(rules, "rm -rf build") == Verdict::kDeny);
  CHECK(OnText(rules, "ls") == Verdict::kNone);
}

TEST_CASE("what may hide a denied family asks, unless exactly it was allowed") {
  std::vector<Rule> rules = {Deny(RuleMatch::kCommandFamily, "rm"),
                             Allow(RuleMatch::kCommandFamily, "git status")};
  const Command hidden = Command::Shell("eval 'rm x'", "/code");
  CHECK(DecideCommand(rules, hidden).verdict == Verdict::kAsk);
  CHECK(DecideCommand(rules, hidden).reason.find("eval") != std::string::npos);
  CHECK(OnText(rules, "git status && env $x") == Verdict::kAsk);
  CHECK(OnText(rules, "git status") == Verdict::kAllow);
  rules.push_back(Allow(RuleMatch::kExactCommand, "eval 'rm x'"));
  CHECK(DecideCommand(rules, hidden).verdict == Verdict::kAllow);
}

TEST_CASE("an exact rule does not hold for a shell that may read it differently") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kExactCommand, "ls")};
  CHECK(DecideCommand(rules, Command::Shell("ls", "/code", "/bin/bash")).verdict ==
        Verdict::kAllow);
  CHECK(DecideCommand(rules, Command::Shell("ls", "/code", "/usr/bin/fish")).verdict ==
        Verdict::kNone);
}

TEST_CASE("a family rule holds for the system's own shells, not for a program of that name") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kCommandFamily, "git status")};
  for (const char* shell : {"/bin/sh", "/bin/bash", "/usr/bin/dash"}) {
    CAPTURE(shell);
    CHECK(DecideCommand(rules, Command::Shell("git status", "/code", shell)).verdict ==
          Verdict::kAllow);
  }
  for (const char* shell : {"/code/bin/bash", "/tmp/sh", "/usr/bin/fish"}) {
    CAPTURE(shell);
    CHECK(DecideCommand(rules, Command::Shell("git status", "/code", shell)).verdict !=
          Verdict::kAllow);
  }
}

TEST_CASE("a family decision names each rule that it took") {
  std::vector<Rule> rules = {Allow(RuleMatch::kCommandFamily, "git status"),
                             Allow(RuleMatch::kCommandFamily, "npm test")};
  rules[1].id = "second";
  const RuleDecision decision =
      DecideCommand(rules, Command::Shell("git status; npm test; git status -s", "/code"));
  CHECK(decision.verdict == Verdict::kAllow);
  CHECK(decision.ids == std::vector<std::string>{"family-allow", "second"});
}

TEST_CASE("a directory bounds where a rule holds") {
  Rule exact = Allow(RuleMatch::kExactCommand, "make");
  exact.directory = "/code";
  Rule family = Allow(RuleMatch::kCommandFamily, "git status");
  family.directory = "/code";
  const auto at = [](const Rule& rule, std::string_view text, std::string directory) {
    return DecideCommand({rule}, Command::Shell(std::string(text), std::move(directory))).verdict;
  };
  CHECK(at(exact, "make", "/code") == Verdict::kAllow);
  CHECK(at(exact, "make", "/code/sub") == Verdict::kNone);
  CHECK(at(family, "git status", "/code/sub") == Verdict::kAllow);
  CHECK(at(family, "git status", "/workshop") == Verdict::kNone);
  Rule target = Allow(RuleMatch::kNetworkTarget, "a.example:443");
  target.directory = "/code";
  CHECK(OnTarget({target}, "a.example:443") == Verdict::kNone);
  target.effect = RuleEffect::kDeny;
  CHECK(OnTarget({target}, "a.example:443") == Verdict::kDeny);
}

TEST_CASE("rules end at their time and with their uses") {
  Rule rule = Allow(RuleMatch::kExactCommand, "make");
  rule.until = TimePoint{} + std::chrono::seconds(10);
  const Command command = Command::Shell("make", "/code");
  const auto at = [&](int seconds) {
    return internal::DecideByRules({&rule, 1}, RequireCommand(command), CommandRequest(command),
                                   TimePoint{} + std::chrono::seconds(seconds),
                                   internal::ProgramPath(""))
        .verdict;
  };
  CHECK(at(9) == Verdict::kAllow);
  CHECK(at(10) == Verdict::kNone);
  rule.uses = 0;
  CHECK(at(9) == Verdict::kNone);
}

TEST_CASE("an allowed target covers, a denied one overlaps") {
  const std::vector<Rule> allow = {Allow(RuleMatch::kNetworkTarget, "*.example.com:443")};
  CHECK(OnTarget(allow, "api.example.com:443") == Verdict::kAllow);
  CHECK(OnTarget(allow, "example.com:443") == Verdict::kNone);
  CHECK(OnTarget(allow, "api.example.com:80") == Verdict::kNone);
  CHECK(OnTarget(allow, "api.example.com.evil.test:443") == Verdict::kNone);
  const std::vector<Rule> deny = {allow[0], Deny(RuleMatch::kNetworkTarget, "x.example.com:*")};
  CHECK(OnTarget(deny, "x.example.com:443") == Verdict::kDeny);
  CHECK(OnTarget(deny, "y.example.com:443") == Verdict::kAllow);
  CHECK(OnTarget(deny, "*:443") == Verdict::kDeny);
}

TEST_CASE("an allowed tree covers what is below it by whole components") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kTree, "read:/usr/share")};
  CHECK(OnPath(rules, kRead, PathShape::kExact, "/usr/share/x") == Verdict::kAllow);
  CHECK(OnPath(rules, kRead, PathShape::kTree, "/usr/share") == Verdict::kAllow);
  CHECK(OnPath(rules, kRead, PathShape::kExact, "/usr/shared") == Verdict::kNone);
  CHECK(OnPath(rules, kWrite, PathShape::kExact, "/usr/share/x") == Verdict::kNone);
  CHECK(OnPath(rules, kRead, PathShape::kTree, "/usr") == Verdict::kNone);
  CHECK(OnPath(rules, kRead, PathShape::kTree, "/") == Verdict::kNone);
}

TEST_CASE("an allowed path covers that object only") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kPath, "/usr/share")};
  CHECK(OnPath(rules, kRead, PathShape::kExact, "/usr/share") == Verdict::kAllow);
  CHECK(OnPath(rules, kWrite, PathShape::kExact, "/usr/share") == Verdict::kAllow);
  CHECK(OnPath(rules, kRead, PathShape::kTree, "/usr/share") == Verdict::kNone);
  CHECK(OnPath(rules, kRead, PathShape::kExact, "/usr/share/x") == Verdict::kNone);
}

TEST_CASE("a denied path refuses every requirement that reaches it") {
  const std::vector<Rule> rules = {Allow(RuleMatch::kTree, "/usr"),
                                   Deny(RuleMatch::kTree, "read:/usr/share")};
  CHECK(OnPath(rules, kRead, PathShape::kExact, "/usr/lib") == Verdict::kAllow);
  CHECK(OnPath(rules, kRead, PathShape::kExact, "/usr/share/x") == Verdict::kDeny);
  CHECK(OnPath(rules, kRead, PathShape::kTree, "/usr") == Verdict::kDeny);
  CHECK(OnPath(rules, kRead, PathShape::kTree, "/") == Verdict::kDeny);
  CHECK(OnPath(rules, kWrite, PathShape::kExact, "/usr/share/x") == Verdict::kDeny);
  const std::vector<Rule> only_write = {Deny(RuleMatch::kTree, "write:/usr/share")};
  CHECK(OnPath(only_write, kRead, PathShape::kExact, "/usr/share/x") == Verdict::kNone);
  CHECK(OnPath(only_write, kWrite, PathShape::kExact, "/usr/share/x") == Verdict::kDeny);
}

TEST_CASE("rules are made in one spelling") {
  CHECK(MakeRule(RuleEffect::kAllow, RuleMatch::kCommandFamily, "  git   status ")->text ==
        "git status");
  CHECK(MakeRule(RuleEffect::kAllow, RuleMatch::kNetworkTarget, "tcp:Example.COM:443")->text ==
        "example.com:443");
  CHECK(MakeRule(RuleEffect::kAllow, RuleMatch::kTree, "write:/a//b/../c/")->text == "/a/c");
}

TEST_CASE("texts that do not fit are refused") {
  const auto code = [](RuleMatch match, std::string_view text) {
    return MakeRule(RuleEffect::kAllow, match, text).status();
  };
  for (const std::string_view family : {"", "a b c", "git; id", "-x", "git --x", "a/b", "$x"}) {
    CAPTURE(family);
    CHECK(Is(code(RuleMatch::kCommandFamily, family), ErrorCode::kInvalidCommand));
  }
  CHECK(Is(code(RuleMatch::kExactCommand, ""), ErrorCode::kInvalidCommand));
  CHECK(Is(code(RuleMatch::kExactCommand, "a\xff"), ErrorCode::kInvalidCommand));
  CHECK(Is(code(RuleMatch::kNetworkTarget, "example.com"), ErrorCode::kInvalidTarget));
  CHECK(Is(code(RuleMatch::kPath, "relative"), ErrorCode::kInvalidScope));
  CHECK(Is(code(RuleMatch::kTree, "read:write:/x"), ErrorCode::kInvalidScope));
}

TEST_CASE("a rule reads as one escaped line") {
  Rule rule = Allow(RuleMatch::kExactCommand, "a\x1b[2J\nb");
  rule.directory = "/w";
  CHECK(RuleText(rule) == "allow exact \"a\\x1b[2J\\nb\" in /w");
  CHECK(RuleText(Deny(RuleMatch::kTree, "read:/x")) == "deny tree \"read:/x\"");
}

TEST_CASE("a family is described before it is trusted") {
  CHECK(DescribeFamily("git status").find("--short") != std::string::npos);
  CHECK(DescribeFamily("terraform plan").find("not in the catalogue") != std::string::npos);
  CHECK(DescribeFamily("sudo make").find("covers nothing") != std::string::npos);
}

}  // namespace
}  // namespace cordon
