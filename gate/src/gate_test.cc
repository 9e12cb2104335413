#include "cordon/gate/gate.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "gate_bench.h"
#include "support/catch.h"

namespace cordon {
namespace {

using internal::GateBench;
using internal::Mentions;
using internal::No;
using internal::Target;
using internal::Yes;

TEST_CASE("what the profile allows needs neither a question nor a grant") {
  GateBench bench({}, Access::kAllow);
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).value().empty());
  CHECK(bench.questions() == 0);
}

TEST_CASE("what the profile denies is refused, named, and asked of nobody") {
  GateBench bench({Yes()}, Access::kDeny);
  const Requirement write =
      RequirePath(CapabilityKind::kFilesystemWrite, PathShape::kExact, "/usr/x").value();
  const absl::Status status =
      bench.gate().Admit(bench.RequestOf("make", {write, Target("a.example:443")}), {}).status();
  CHECK(Is(status, ErrorCode::kPolicyDenied));
  CHECK(Mentions(status, "command.execute make: denied"));
  CHECK(Mentions(status, "filesystem.write /usr/x: denied"));
  CHECK(Mentions(status, "--write /usr/x"));
  CHECK_FALSE(Mentions(status, "a.example"));
  CHECK(bench.questions() == 0);
}

TEST_CASE("a stored allow does not lift a denial of the profile") {
  GateBench bench({Yes()}, Access::kDeny);
  const Rule rule = MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, "make").value();
  REQUIRE(bench.options.rules->Add({rule}, false).ok());
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kPolicyDenied));
}

TEST_CASE("a stored deny holds where the profile allows, and is named") {
  GateBench bench({Yes()}, Access::kAllow);
  Rule rule = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value();
  rule.id = "no-rm";
  REQUIRE(bench.options.rules->Add({rule}, false).ok());
  const absl::Status status = bench.gate().Admit(bench.RequestOf("rm x"), {}).status();
  CHECK(Is(status, ErrorCode::kDeniedByRule));
  CHECK(Mentions(status, "deny family \"rm\""));
  CHECK(Mentions(status, "no-rm"));
  CHECK(bench.questions() == 0);
  CHECK(bench.AdmitAndMint(bench.RequestOf("ls")).ok());
}

TEST_CASE("what may hide a denial is asked where the profile allows, and needs no grant") {
  GateBench bench({No(), Yes()}, Access::kAllow);
  const Rule rule = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value();
  REQUIRE(bench.options.rules->Add({rule}, false).ok());
  const absl::Status refused = bench.gate().Admit(bench.RequestOf("nohup rm x"), {}).status();
  CHECK(Is(refused, ErrorCode::kRefusedByPerson));
  CHECK(bench.AdmitAndMint(bench.RequestOf("nohup rm x")).value().empty());
  CHECK(bench.questions() == 2);
}

TEST_CASE("one question covers everything that is left, and grants follow") {
  GateBench bench({Yes()});
  const Request request =
      bench.RequestOf("make", {Target("a.example:443"), Target("allowed.example:443")});
  const std::vector<Grant> grants = bench.AdmitAndMint(request).value();
  REQUIRE(bench.questions() == 1);
  CHECK(bench.approver->cards()[0].pending.size() == 2);
  const auto redemption = bench.authority->Verify(grants, *request.binding).value();
  REQUIRE(redemption->subjects().size() == 2);
  CHECK(redemption->subjects()[0].grant_class == GrantClass::kCommandStart);
  CHECK(redemption->subjects()[1].target == "tcp:a.example:443");
  CHECK(redemption->Consume().ok());
}

TEST_CASE("a stored allow needs no question but still a grant") {
  GateBench bench;
  const Rule rule = MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, "make").value();
  REQUIRE(bench.options.rules->Add({rule}, false).ok());
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).value().size() == 1);
  CHECK(bench.questions() == 0);
}

TEST_CASE("refused, nobody there and timed out are three outcomes, each naming what was refused") {
  GateBench refusing({No("use cmake")});
  const absl::Status refused =
      refusing.gate().Admit(refusing.RequestOf("make", {Target("a.example:443")}), {}).status();
  CHECK(Is(refused, ErrorCode::kRefusedByPerson));
  CHECK(Mentions(refused, "use cmake"));
  CHECK(Mentions(refused, "command.execute make"));
  CHECK(Mentions(refused, "tcp:a.example:443"));

  GateBench headless;
  headless.options.approver = nullptr;
  const absl::Status nobody = headless.gate().Admit(headless.RequestOf("make"), {}).status();
  CHECK(Is(nobody, ErrorCode::kNoApprover));
  CHECK(Mentions(nobody, "command.execute make"));

  GateBench slow;
  slow.options.approver = std::make_shared<CallbackApprover>(
      [](const ApprovalCard&, std::stop_token) -> absl::StatusOr<ApprovalAnswer> {
        return MakeError(ErrorCode::kApprovalTimedOut, "nobody answered in time");
      });
  const absl::Status late = slow.gate().Admit(slow.RequestOf("make"), {}).status();
  CHECK(Is(late, ErrorCode::kApprovalTimedOut));
  CHECK(Mentions(late, "command.execute make"));
}

TEST_CASE("an approver that throws has not approved") {
  GateBench bench;
  bench.options.approver = std::make_shared<CallbackApprover>(
      [](const ApprovalCard&, std::stop_token) -> absl::StatusOr<ApprovalAnswer> {
        throw std::runtime_error("lost the window");
      });
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kNoApprover));
}

TEST_CASE("an answer to another question has no effect") {
  ApprovalAnswer other = Yes();
  other.digest.fill(7);
  GateBench bench({other});
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kApprovalStale));
}

TEST_CASE("an answer after the expiry has no effect") {
  GateBench bench({Yes()});
  auto now = std::make_shared<std::chrono::steady_clock::time_point>();
  bench.options.clock = [now] { return *now += std::chrono::minutes(3); };
  bench.options.approval_timeout = std::chrono::minutes(2);
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kApprovalTimedOut));
}

TEST_CASE("always stores the rule in the file and is not asked again") {
  GateBench bench({Yes(Remember::kAlways)});
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).value().size() == 1);
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).value().size() == 1);
  CHECK(bench.questions() == 1);
  const std::vector<Rule> rules = LoadRuleFile(bench.folder.Path("rules")).value();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].directory == bench.folder.Path());
  CHECK_FALSE(rules[0].who.empty());
  CHECK(bench.approver->cards()[0].would_store == std::vector<std::string>{RuleText(rules[0])});
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make x"), {}).status(), ErrorCode::kNoApprover));
}

TEST_CASE("session is remembered in memory only") {
  GateBench bench({Yes(Remember::kSession)});
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).ok());
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).ok());
  CHECK(bench.questions() == 1);
  CHECK(Is(LoadRuleFile(bench.folder.Path("rules")).status(), ErrorCode::kNotFound));
}

TEST_CASE("when the rule cannot be stored nothing is minted") {
  GateBench bench({Yes(Remember::kAlways)});
  bench.options.rules = RuleSet::InMemory();
  CHECK(Is(bench.AdmitAndMint(bench.RequestOf("make")).status(), ErrorCode::kInvalidOption));
  CHECK_FALSE(bench.approver->cards()[0].can_persist);
  CHECK_FALSE(bench.log.Has("grant.issued"));
}

TEST_CASE("the whole host is not remembered") {
  GateBench bench({Yes(Remember::kSession)});
  ProfileConfig config = bench.options.profile.Settings();
  config.host_read = Access::kGated;
  bench.options.profile = Profile::Create(config).value();
  const Requirement host =
      RequirePath(CapabilityKind::kFilesystemRead, PathShape::kTree, "/").value();
  CHECK_FALSE(bench.gate().Admit(bench.RequestOf("make", {host}), {}).ok());
  REQUIRE(bench.questions() == 1);
  CHECK(bench.approver->cards()[0].would_store.empty());
}

TEST_CASE("rules that change while the question is open are seen") {
  GateBench bench;
  const std::shared_ptr<RuleSet> rules = bench.options.rules;
  bench.options.approver = std::make_shared<CallbackApprover>(
      [rules](const ApprovalCard& card, std::stop_token) -> absl::StatusOr<ApprovalAnswer> {
        Rule deny = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "make").value();
        (void)rules->Add({deny}, false);
        return ApprovalAnswer{true, Remember::kAlways, "", card.digest};
      });
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kDeniedByRule));
  CHECK(Is(LoadRuleFile(bench.folder.Path("rules")).status(), ErrorCode::kNotFound));
}

TEST_CASE("rules that change before minting are seen") {
  GateBench bench;
  Rule allow = MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, "make").value();
  allow.id = "allow";
  REQUIRE(bench.options.rules->Add({allow}, false).ok());
  const auto first = bench.gate().Admit(bench.RequestOf("make"), {}).value();
  const auto second = bench.gate().Admit(bench.RequestOf("make"), {}).value();
  REQUIRE(bench.options.rules->Remove("allow").ok());
  CHECK(Is(first->Mint().status(), ErrorCode::kApprovalStale));
  const Rule deny = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "make").value();
  REQUIRE(bench.options.rules->Add({deny}, false).ok());
  CHECK(Is(second->Mint().status(), ErrorCode::kDeniedByRule));
}

TEST_CASE("grants are minted once") {
  GateBench bench({Yes()});
  const auto admitted = bench.gate().Admit(bench.RequestOf("make"), {}).value();
  CHECK(admitted->Mint().value().size() == 1);
  CHECK(Is(admitted->Mint().status(), ErrorCode::kInvalidRequest));
}

TEST_CASE("a rule with one use mints once, also when two were admitted by it") {
  GateBench bench;
  Rule allow = MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, "make").value();
  allow.uses = 1;
  REQUIRE(bench.options.rules->Add({allow}, false).ok());
  const auto first = bench.gate().Admit(bench.RequestOf("make"), {}).value();
  const auto second = bench.gate().Admit(bench.RequestOf("make"), {}).value();
  CHECK(first->Mint().ok());
  CHECK(Is(second->Mint().status(), ErrorCode::kApprovalStale));
}

TEST_CASE("a request that no grant could serve is refused before anybody is asked") {
  GateBench bench({Yes(), Yes()});
  Request other_profile = bench.RequestOf("make");
  other_profile.binding->profile_fingerprint[0] ^= 1;
  CHECK(Is(bench.gate().Admit(other_profile, {}).status(), ErrorCode::kInvalidRequest));
  Request other_executor = bench.RequestOf("make");
  other_executor.binding->executor_id = "stranger";
  CHECK(Is(bench.gate().Admit(other_executor, {}).status(), ErrorCode::kInvalidRequest));
  CHECK(bench.questions() == 0);
  bench.gate().AddAuthority(NewHmacGrantAuthority("stranger").value());
  CHECK(bench.AdmitAndMint(other_executor).value().size() == 1);
}

TEST_CASE("a request that contradicts itself is refused") {
  GateBench bench({Yes()});
  Request request = bench.RequestOf("make");
  request.command = Command::Shell("rm -rf /", bench.folder.Path());
  CHECK(Is(bench.gate().Admit(request, {}).status(), ErrorCode::kInvalidRequest));
  request = bench.RequestOf("make");
  request.authority = std::vector<Requirement>{};
  CHECK(Is(bench.gate().Admit(request, {}).status(), ErrorCode::kInvalidRequest));
  CHECK(bench.questions() == 0);
}

TEST_CASE("no authority passes with a record") {
  GateBench bench;
  Request request;
  request.tool = "format";
  request.call_id = "call";
  request.execution_id = "execution";
  request.authority = NoAuthority("only formats text");
  CHECK(bench.AdmitAndMint(request).value().empty());
  CHECK(bench.log.Has("no_authority=only formats text"));
}

TEST_CASE("a forecast asks nobody and says what decides") {
  GateBench bench({Yes()});
  const Rule deny = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value();
  const Rule allow = MakeRule(RuleEffect::kAllow, RuleMatch::kCommandFamily, "git status").value();
  REQUIRE(bench.options.rules->Add({deny, allow}, false).ok());
  CHECK(bench.gate().Explain(bench.RequestOf("make"))->access == Access::kGated);
  CHECK(bench.gate().Explain(bench.RequestOf("rm x"))->access == Access::kDeny);
  const Forecast allowed = bench.gate().Explain(bench.RequestOf("git status")).value();
  CHECK(allowed.access == Access::kAllow);
  REQUIRE(allowed.reasons.size() == 1);
  CHECK(allowed.reasons[0].find("allow family \"git status\"") != std::string::npos);
  CHECK(bench.questions() == 0);
}

TEST_CASE("a damaged rule file allows nothing") {
  GateBench bench({Yes()}, Access::kAllow);
  CHECK(bench.AdmitAndMint(bench.RequestOf("make")).ok());
  bench.folder.Write("rules", "{");
  CHECK(Is(bench.gate().Admit(bench.RequestOf("make"), {}).status(), ErrorCode::kInvalidRules));
}

TEST_CASE("a gate needs a profile and sensible times") {
  GateBench bench;
  GateOptions none;
  CHECK(Is(Gate::Create(none).status(), ErrorCode::kInvalidOption));
  GateOptions options = bench.options;
  options.grant_ttl = std::chrono::hours(1);
  CHECK(Is(Gate::Create(options).status(), ErrorCode::kInvalidOption));
  options = bench.options;
  options.approval_timeout = std::chrono::milliseconds(0);
  CHECK(Is(Gate::Create(options).status(), ErrorCode::kInvalidOption));
}

}  // namespace
}  // namespace cordon
