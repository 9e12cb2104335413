// What was allowed and is not any more: connections end, in every front, and the log says so.

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "proxy_testing.h"
#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

// Rules that change while connections are open.
class Rules final : public EgressAuthorizer {
 public:
  absl::StatusOr<EgressDecision> Decide(const std::string& /*id*/,
                                        const NetworkTarget& target) override {
    const std::lock_guard lock(mutex_);
    const auto found = rules_.find(NetworkTargetText(target));
    if (found == rules_.end()) return EgressDecision{EgressVerdict::kAsk, ""};
    return EgressDecision{found->second, "the rule of the test"};
  }
  absl::StatusOr<std::string> DenialOf(const std::string& /*id*/,
                                       const NetworkTarget& target) override {
    const std::lock_guard lock(mutex_);
    if (is_broken_) return MakeError(ErrorCode::kInvalidRules, "the file of rules is broken");
    const auto found = rules_.find(NetworkTargetText(target));
    const bool denied = found != rules_.end() && found->second == EgressVerdict::kDeny;
    return std::string(denied ? "the rule of the test" : "");
  }
  void Set(const std::string& target, EgressVerdict verdict) {
    const std::lock_guard lock(mutex_);
    rules_[target] = verdict;
  }
  void Drop(const std::string& target) {
    const std::lock_guard lock(mutex_);
    rules_.erase(target);
  }
  void Break() {
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, EgressVerdict> rules_;
  bool is_broken_ = false;
};

// An echo server behind a front that may reach `a.test` and `b.test` by its plan, and `ruled.test`
// by a rule.
struct Ground {
  TestServer server{ServeEcho};
  std::shared_ptr<Rules> rules = std::make_shared<Rules>();
  std::shared_ptr<LinesLog> log = std::make_shared<LinesLog>();

  EgressProxyOptions Options() {
    rules->Set("ruled.test:7", EgressVerdict::kAllow);
    EgressProxyOptions options;
    options.authorizer = rules;
    options.log = log;
    for (const char* name : {"a.test:7", "b.test:7", "ruled.test:7"}) {
      options.overrides.push_back(To(name, server.port()));
    }
    return options;
  }
  static EgressPlan GatedPlan() {
    EgressPlan plan = Plan({"a.test:7", "b.test:7"});
    plan.gated = true;
    return plan;
  }
};

TestStream Tunnel(const Front& front, const std::string& target) {
  TestStream stream = front.Connect();
  stream.Write("CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string agreed = "HTTP/1.1 200 Connection established\r\n\r\n";
  return stream.Read(agreed.size()) == agreed ? std::move(stream) : TestStream();
}

bool Echoes(const TestStream& stream) {
  const std::string text("\0text", 5);
  return stream.valid() && stream.Write(text) && stream.Read(text.size()) == text;
}

bool IsCut(const TestStream& stream) {
  bool reset = false;
  return stream.ReadAll(&reset).empty() && reset;
}

TEST_CASE("a target that is revoked loses its connections at once and its neighbour none") {
  Ground ground;
  const Front front(ground.Options(), Ground::GatedPlan());
  const TestStream cut = Tunnel(front, "a.test:7");
  const TestStream kept = Tunnel(front, "b.test:7");
  REQUIRE(Echoes(cut));
  REQUIRE(Echoes(kept));
  REQUIRE(front.front->Revoke(Target("a.test:7")).ok());
  CHECK(IsCut(cut));
  CHECK(Echoes(kept));
  CHECK_FALSE(Tunnel(front, "a.test:7").valid());
  CHECK(Echoes(Tunnel(front, "b.test:7")));
  CHECK(HasDenial(*front.front, "tcp:a.test:7", "--net a.test:7"));
  CHECK(ground.log->Has({"target=tcp:a.test:7", "verdict=cut: revoked: a.test:7", "bytes_up=5",
                         "bytes_down=5", "duration_ms="}));
}

TEST_CASE("a pattern that is revoked cuts all that it covers") {
  Ground ground;
  const Front front(ground.Options(), Ground::GatedPlan());
  const TestStream first = Tunnel(front, "a.test:7");
  const TestStream second = Tunnel(front, "b.test:7");
  REQUIRE(Echoes(first));
  REQUIRE(Echoes(second));
  REQUIRE(front.front->Revoke(Target("*.test:*")).ok());
  CHECK(IsCut(first));
  CHECK(IsCut(second));
}

TEST_CASE("a connection ends when the rule that allowed it goes, and when one denies it") {
  Ground ground;
  const Front front(ground.Options(), Ground::GatedPlan());
  const TestStream expired = Tunnel(front, "ruled.test:7");
  const TestStream denied = Tunnel(front, "a.test:7");
  const TestStream kept = Tunnel(front, "b.test:7");
  for (const TestStream* stream : {&expired, &denied, &kept}) REQUIRE(Echoes(*stream));
  ground.rules->Drop("ruled.test:7");
  ground.rules->Set("a.test:7", EgressVerdict::kDeny);
  CHECK(IsCut(expired));
  CHECK(IsCut(denied));
  CHECK(Echoes(kept));
  CHECK(ground.log->Has({"target=tcp:ruled.test:7", "cut: no longer allowed: the rule of the"}));
  CHECK(ground.log->Has({"target=tcp:a.test:7", "cut: the rule of the test"}));
}

TEST_CASE("rules that cannot be read any more end every connection") {
  Ground ground;
  const Front front(ground.Options(), Ground::GatedPlan());
  const TestStream stream = Tunnel(front, "a.test:7");
  REQUIRE(Echoes(stream));
  ground.rules->Break();
  CHECK(IsCut(stream));
  CHECK_FALSE(Tunnel(front, "b.test:7").valid());
}

TEST_CASE("revoking cuts what goes through a gateway too") {
  Ground ground;
  Served served;
  if (!served.Start(ground.Options(), Ground::GatedPlan())) {
    CORDON_SKIP("userns", "no user namespaces");
  }
  const TestStream cut = served.Connect("a.test", 7);
  const TestStream kept = served.Connect("b.test", 7);
  REQUIRE(Echoes(cut));
  REQUIRE(Echoes(kept));
  REQUIRE(served.session->Revoke(Target("a.test:7")).ok());
  CHECK(IsCut(cut));
  ground.rules->Set("b.test:7", EgressVerdict::kDeny);
  CHECK(IsCut(kept));
  CHECK(served.session->Denials().size() == 2);
}

TEST_CASE("what a plan denies is reached by no grant, not even as the address of a name") {
  TestServer server(ServeEcho);
  EgressProxyOptions options;
  options.lookup = [](const std::string&) -> absl::StatusOr<std::vector<std::string>> {
    return std::vector<std::string>{"127.0.0.1"};
  };
  const std::string port = std::to_string(server.port());
  EgressPlan plan = Plan({"a.test:" + port, "b.test:" + port, "127.0.0.0/8:" + port});
  const Front allowed(options, plan);
  CHECK(Echoes(Tunnel(allowed, "a.test:" + port)));
  CHECK(Echoes(Tunnel(allowed, "127.0.0.1:" + port)));
  plan.denied = {Target("a.test:*")};
  const Front by_name(options, plan);
  CHECK_FALSE(Tunnel(by_name, "a.test:" + port).valid());
  CHECK(Echoes(Tunnel(by_name, "b.test:" + port)));
  plan.denied = {Target("127.0.0.0/16:*")};
  const Front by_range(options, plan);
  CHECK_FALSE(Tunnel(by_range, "b.test:" + port).valid());
  CHECK_FALSE(Tunnel(by_range, "127.0.0.1:" + port).valid());
}

}  // namespace
}  // namespace cordon::internal::egress
