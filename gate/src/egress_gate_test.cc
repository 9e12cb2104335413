#include <condition_variable>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/gate/egress.h"
#include "gate_bench.h"
#include "support/catch.h"

namespace cordon {
namespace {

using internal::GateBench;
using internal::No;
using internal::Yes;

constexpr std::chrono::seconds kSoon{20};

NetworkTarget To(std::string_view text) { return ParseNetworkTarget(text).value(); }

// Holds every question until it is released or cancelled.
class SlowApprover : public Approver {
 public:
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return released_; })) {
      return MakeError(ErrorCode::kCancelled, "cancelled");
    }
    return ApprovalAnswer{true, Remember::kOnce, "", card.digest};
  }
  [[nodiscard]] bool WasAsked() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kSoon, [this] { return asked_ > 0; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int asked_ = 0;
  bool released_ = false;
};

// A running command "fetch" with its way out.
struct EgressBench : GateBench {
  explicit EgressBench(std::vector<ApprovalAnswer> answers = {})
      : GateBench(std::move(answers), Access::kAllow) {}

  EgressGate& egress(EgressGateOptions limits = {}) {
    if (egress_ == nullptr) {
      egress_ = gate().MakeEgressGate(limits);
      REQUIRE(egress_->Enter(RequestOf("fetch")).ok());
    }
    return *egress_;
  }
  EgressVerdict Decide(std::string_view target) {
    return egress().Decide("execution", To(target)).value().verdict;
  }
  std::future<EgressDecision> Ask(std::string_view target) {
    auto promise = std::make_shared<std::promise<EgressDecision>>();
    egress().Ask("execution", To(target),
                 [promise](EgressDecision d) { promise->set_value(std::move(d)); });
    return promise->get_future();
  }
  EgressDecision AskAndWait(std::string_view target) {
    std::future<EgressDecision> answer = Ask(target);
    REQUIRE(answer.wait_for(kSoon) == std::future_status::ready);
    return answer.get();
  }
  void AddRule(RuleEffect effect, std::string_view target,
               std::optional<std::uint32_t> uses = std::nullopt) {
    Rule rule = MakeRule(effect, RuleMatch::kNetworkTarget, target).value();
    rule.uses = uses;
    REQUIRE(options.rules->Add({rule}, false).ok());
  }
  std::shared_ptr<EgressGate> egress_;
};

TEST_CASE("what the profile and the rules say needs no question, and a denial wins") {
  EgressBench bench;
  bench.AddRule(RuleEffect::kAllow, "*.example:443");
  bench.AddRule(RuleEffect::kDeny, "bad.example:*");
  CHECK(bench.Decide("allowed.example:443") == EgressVerdict::kAllow);
  CHECK(bench.Decide("a.b.example:443") == EgressVerdict::kAllow);
  CHECK(bench.Decide("a.b.example:80") == EgressVerdict::kAsk);
  CHECK(bench.Decide("example:443") == EgressVerdict::kAsk);
  const EgressDecision denied = bench.egress().Decide("execution", To("bad.example:443")).value();
  CHECK(denied.verdict == EgressVerdict::kDeny);
  CHECK(denied.rule == "the rule deny network \"bad.example:*\"");
  CHECK(bench.questions() == 0);
}

TEST_CASE("a network that the profile denies is denied without a question") {
  EgressBench bench({Yes()});
  ProfileConfig config;
  config.workspace_root = bench.folder.Path();
  config.command = Access::kAllow;
  bench.options.profile = Profile::Create(config).value();
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kDeny);
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kDeny);
  CHECK(bench.questions() == 0);
}

TEST_CASE("an approval holds for the target and the execution, and is spent as a grant") {
  EgressBench bench({Yes()});
  REQUIRE(bench.Decide("a.example:443") == EgressVerdict::kAsk);
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kAllow);
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kAllow);
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kAllow);
  CHECK(bench.Decide("a.example:80") == EgressVerdict::kAsk);
  CHECK(bench.questions() == 1);
  CHECK(bench.log.Has("grant.issued execution class=network.proxy-target.v1"));
  CHECK(bench.log.Has("grant.consumed execution class=network.proxy-target.v1"));
  CHECK(bench.log.Has("egress execution target=tcp:a.example:443 outcome=allowed by=approved"));

  Request other = bench.RequestOf("fetch");
  other.execution_id = other.binding->execution_id = "other";
  REQUIRE(bench.egress().Enter(other).ok());
  CHECK(bench.egress().Decide("other", To("a.example:443")).value().verdict == EgressVerdict::kAsk);
}

TEST_CASE("a refusal is remembered for the execution, with the person's words") {
  EgressBench bench({No("use the mirror"), Yes()});
  const EgressDecision refused = bench.AskAndWait("a.example:443");
  CHECK(refused.verdict == EgressVerdict::kDeny);
  CHECK(refused.rule == "a person refused, saying \"use the mirror\"");
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kDeny);
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kDeny);
  CHECK(bench.questions() == 1);
}

TEST_CASE("nobody to ask and nobody in time deny, each with its own text") {
  EgressBench bench;
  CHECK(bench.AskAndWait("a.example:443").rule.find("nobody can be asked") != std::string::npos);
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kDeny);
}

TEST_CASE("an answer for the session becomes a rule of the workspace, for later executions") {
  EgressBench bench({Yes(Remember::kSession)});
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kAllow);
  const std::vector<Rule> rules = bench.options.rules->List().value();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].directory == bench.folder.Path());
  Request later = bench.RequestOf("another");
  later.execution_id = later.binding->execution_id = "later";
  REQUIRE(bench.egress().Enter(later).ok());
  CHECK(bench.egress().Decide("later", To("a.example:443")).value().verdict ==
        EgressVerdict::kAllow);
}

TEST_CASE("a denial that is stored later wins over an approval") {
  EgressBench bench({Yes()});
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kAllow);
  bench.AddRule(RuleEffect::kDeny, "a.example:443");
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kDeny);
}

TEST_CASE("a stored denial stands against every grant and a range denies its addresses") {
  EgressBench bench;
  const auto denial = [&bench](const std::string& execution, std::string_view target) {
    return bench.egress().DenialOf(execution, To(target)).value();
  };
  bench.AddRule(RuleEffect::kDeny, "10.0.0.0/8:443");
  bench.AddRule(RuleEffect::kAllow, "192.0.2.0/24:443");
  CHECK(denial("execution", "10.1.2.3:443") == "the rule deny network \"10.0.0.0/8:443\"");
  CHECK(denial("execution", "10.1.2.3:80").empty());
  CHECK(denial("execution", "11.1.2.3:443").empty());
  CHECK(denial("never entered", "allowed.example:443").empty());
  CHECK_FALSE(denial("never entered", "10.1.2.3:443").empty());
  CHECK_FALSE(denial("execution", "*:443").empty());
  CHECK(bench.Decide("192.0.2.7:443") == EgressVerdict::kAllow);
  CHECK(bench.Decide("192.0.3.7:443") == EgressVerdict::kAsk);
  bench.AddRule(RuleEffect::kDeny, "192.0.2.0/25:*");
  CHECK(bench.Decide("192.0.2.7:443") == EgressVerdict::kDeny);
  CHECK(bench.Decide("192.0.2.200:443") == EgressVerdict::kAllow);
}

TEST_CASE("a rule with uses is used once per execution and target, however many connections") {
  EgressBench bench;
  bench.AddRule(RuleEffect::kAllow, "*:443", 1);
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kAllow);
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kAllow);
  CHECK(bench.Decide("b.example:443") == EgressVerdict::kAsk);
}

TEST_CASE("removing a rule takes effect at once") {
  EgressBench bench;
  bench.AddRule(RuleEffect::kAllow, "a.example:443");
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kAllow);
  REQUIRE(bench.options.rules->Remove(bench.options.rules->List()->front().id).ok());
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kAsk);
}

TEST_CASE("many connections to one target ask one question, and the caller never waits") {
  EgressBench bench;
  const auto slow = std::make_shared<SlowApprover>();
  bench.options.approver = slow;
  std::vector<std::future<EgressDecision>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(bench.Ask("a.example:443"));
  REQUIRE(slow->WasAsked());
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kAsk);
  slow->Release();
  for (auto& answer : answers) {
    REQUIRE(answer.wait_for(kSoon) == std::future_status::ready);
    CHECK(answer.get().verdict == EgressVerdict::kAllow);
  }
  CHECK(slow->asked() == 1);
}

TEST_CASE("questions are bounded, for all and for each execution") {
  EgressBench bench;
  const auto slow = std::make_shared<SlowApprover>();
  bench.options.approver = slow;
  SECTION("for all") {
    bench.egress({2, 16});
    auto first = bench.Ask("a.example:443");
    auto second = bench.Ask("b.example:443");
    CHECK(bench.AskAndWait("c.example:443").rule == "too many questions wait for a person");
    slow->Release();
    CHECK(first.get().verdict == EgressVerdict::kAllow);
    CHECK(second.get().verdict == EgressVerdict::kAllow);
  }
  SECTION("for one execution") {
    slow->Release();
    bench.egress({32, 1});
    CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kAllow);
    CHECK(bench.AskAndWait("b.example:443").rule ==
          "this command has had a person asked about too many targets");
  }
}

TEST_CASE("an execution that ends withdraws its question") {
  EgressBench bench;
  const auto slow = std::make_shared<SlowApprover>();
  bench.options.approver = slow;
  auto answer = bench.Ask("a.example:443");
  auto queued = bench.Ask("b.example:443");
  REQUIRE(slow->WasAsked());
  bench.egress().Leave("execution");
  REQUIRE(answer.wait_for(kSoon) == std::future_status::ready);
  CHECK(answer.get().rule == "the command has ended");
  CHECK(queued.get().rule == "the command has ended");
  CHECK(bench.Decide("a.example:443") == EgressVerdict::kDeny);
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kDeny);
  CHECK(slow->asked() == 1);
}

TEST_CASE("destroying the gate answers what still waits") {
  EgressBench bench;
  const auto slow = std::make_shared<SlowApprover>();
  bench.options.approver = slow;
  auto answer = bench.Ask("a.example:443");
  REQUIRE(slow->WasAsked());
  bench.egress_.reset();
  REQUIRE(answer.wait_for(kSoon) == std::future_status::ready);
  CHECK(answer.get().verdict == EgressVerdict::kDeny);
}

TEST_CASE("a target that is no single host and port, or an unknown execution, is denied") {
  EgressBench bench({Yes(), Yes()});
  for (const char* target : {"*:443", "*.example:443", "a.example:*"}) {
    CHECK(bench.Decide(target) == EgressVerdict::kDeny);
    CHECK(bench.AskAndWait(target).verdict == EgressVerdict::kDeny);
  }
  CHECK(bench.egress().Decide("execution", NetworkTarget{"A.example", 443, false})->verdict ==
        EgressVerdict::kDeny);
  CHECK(bench.egress().Decide("unknown", To("allowed.example:443"))->verdict ==
        EgressVerdict::kDeny);
  CHECK_FALSE(bench.egress().Enter(bench.RequestOf("fetch")).ok());
  CHECK(bench.questions() == 0);
}

TEST_CASE("a required log that fails denies") {
  EgressBench bench({Yes()});
  bench.options.log_required = true;
  CHECK(bench.Decide("allowed.example:443") == EgressVerdict::kAllow);
  bench.log.broken = true;
  CHECK(bench.AskAndWait("a.example:443").verdict == EgressVerdict::kDeny);
  CHECK(bench.questions() == 0);
  REQUIRE_FALSE(bench.egress().Enter(bench.RequestOf("fetch")).ok());
  bench.egress().Leave("execution");
  REQUIRE(bench.egress().Enter(bench.RequestOf("fetch")).ok());
  CHECK(Is(bench.egress().Decide("execution", To("allowed.example:443")).status(),
           ErrorCode::kLogFailed));
}

}  // namespace
}  // namespace cordon
