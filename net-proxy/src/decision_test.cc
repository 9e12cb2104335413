#include "decision.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace cordon::internal::egress {
namespace {

NetworkTarget Target(std::string_view text) { return ParseNetworkTarget(text).value(); }

std::vector<NetworkTarget> Targets(const std::vector<std::string>& texts) {
  std::vector<NetworkTarget> list;
  for (const std::string& text : texts) list.push_back(Target(text));
  return list;
}

const RouteResolver kDirect;

class Scripted final : public EgressAuthorizer {
 public:
  absl::StatusOr<EgressDecision> Decide(const std::string& /*id*/,
                                        const NetworkTarget& target) override {
    ++asked;
    if (target.host == "broken.test") return absl::InternalError("broken");
    return EgressDecision{target.host == "ask.test" ? EgressVerdict::kAsk : EgressVerdict::kDeny,
                          "by rule"};
  }
  int asked = 0;
};

// Every way in asks this: one table for all of them.
TEST_CASE("a target is allowed by what was granted and by nothing near it") {
  const std::vector<EgressOverride> overrides;
  const DecisionTable table(
      "e",
      Targets({"a.test:80", "*.wild.test:443", "10.0.0.5:22", "[fd00::1]:22", "*:8080",
               "203.0.113.7:80", "172.16.0.0/12:5432", "[fd00::/8]:5432", "0.0.0.0/0:5433",
               "[::/0]:5433", "169.254.0.0/16:5434"}),
      false, nullptr, &overrides, &kDirect);
  const struct {
    const char* target;
    bool allowed;
  } rows[] = {
      {"a.test:80", true},
      {"A.TEST.:80", true},
      {"a.test:81", false},
      {"b.a.test:80", false},
      {"xa.test:80", false},
      {"a.test.evil.test:80", false},
      {"x.wild.test:443", true},
      {"x.y.wild.test:443", true},
      {"wild.test:443", false},
      {"xwild.test:443", false},
      {"x.wild.test:80", false},
      {"10.0.0.5:22", true},
      {"10.0.0.6:22", false},
      {"[fd00::1]:22", true},
      {"203.0.113.7:80", true},
      {"203.0.113.7:443", false},
      // A range means what is special only when all of it is.
      {"172.16.9.9:5432", true},
      {"172.32.0.1:5432", false},
      {"172.16.9.9:80", false},
      {"8.8.8.8:5432", false},
      {"9.9.9.9:5433", true},
      {"10.0.0.5:5433", false},
      {"169.254.169.254:5433", false},
      {"127.0.0.1:5433", false},
      {"169.254.3.3:5434", true},
      {"169.254.169.254:5434", false},
      {"[fd12::5]:5432", true},
      {"[fe80::5]:5432", false},
      {"[fd00:ec2::254]:5432", false},
      {"[2606:4700::1]:5433", true},
      {"[::1]:5433", false},
      // Any host is any name and any public address; others have to be named.
      {"whatever.test:8080", true},
      {"8.8.8.8:8080", true},
      {"127.0.0.1:8080", false},
      {"10.0.0.5:8080", false},
      {"169.254.169.254:8080", false},
      {"[::1]:8080", false},
      {"[64:ff9b::7f00:1]:8080", false},
      {"192.168.1.1:8080", false},
  };
  for (const auto& row : rows) {
    INFO(row.target);
    const EgressDecision decision = table.Decide(Target(row.target));
    CHECK((decision.verdict == EgressVerdict::kAllow) == row.allowed);
    CHECK_FALSE(decision.rule.empty());
  }
  CHECK(table.NameIsGranted("a.test"));
  CHECK_FALSE(DecisionTable("e", Targets({"a.test:80"}), false, nullptr, &overrides, &kDirect)
                  .NameIsGranted("b.test"));
}

TEST_CASE("a name leads to public addresses and to those that are granted beside it") {
  const std::vector<EgressOverride> overrides;
  const DecisionTable table("e", Targets({"a.test:80", "10.0.0.5:80"}), false, nullptr, &overrides,
                            &kDirect);
  const struct {
    const char* address;
    std::uint16_t port;
    bool allowed;
  } rows[] = {
      {"8.8.8.8", 80, true},          {"2606:4700::1111", 80, true},
      {"10.0.0.5", 80, true},         {"10.0.0.5", 81, false},
      {"10.0.0.6", 80, false},        {"127.0.0.1", 80, false},
      {"169.254.169.254", 80, false}, {"::1", 80, false},
      {"0.0.0.0", 80, false},         {"::ffff:127.0.0.1", 80, false},
      {"64:ff9b::a00:1", 80, false},  {"198.18.0.1", 80, false},
      {"2002:7f00:1::", 80, false},   {"fe80::1", 80, false},
  };
  for (const auto& row : rows) {
    INFO(row.address << ":" << row.port);
    CHECK(table.AddressProblem({*IpAddress::Parse(row.address), row.port}).empty() == row.allowed);
  }
}

TEST_CASE("an override leads anywhere and grants nothing") {
  const std::vector<EgressOverride> overrides = {
      ParseEgressOverride("a.test:80=127.0.0.1:8080").value()};
  const DecisionTable table("e", {}, false, nullptr, &overrides, &kDirect);
  CHECK(table.Override(Target("a.test:80")) == Endpoint{*IpAddress::Parse("127.0.0.1"), 8080});
  CHECK_FALSE(table.Override(Target("a.test:81")).has_value());
  CHECK(table.Decide(Target("a.test:80")).verdict == EgressVerdict::kDeny);
}

TEST_CASE("the authorizer decides what a gated plan does not cover and its last word is kept") {
  const std::vector<EgressOverride> overrides;
  const auto authorizer = std::make_shared<Scripted>();
  DecisionTable table("e", Targets({"a.test:80"}), true, authorizer, &overrides, &kDirect);
  CHECK(table.Decide(Target("a.test:80")).verdict == EgressVerdict::kAllow);
  CHECK(authorizer->asked == 0);
  CHECK(table.Decide(Target("b.test:80")).verdict == EgressVerdict::kDeny);
  CHECK(table.Decide(Target("broken.test:80")).verdict == EgressVerdict::kDeny);
  CHECK(table.Decide(Target("ask.test:80")).verdict == EgressVerdict::kAsk);
  table.Remember(Target("ask.test:80"), {EgressVerdict::kAllow, "a person"});
  CHECK(table.Decide(Target("ask.test:80")).verdict == EgressVerdict::kAllow);
  CHECK(table.Decide(Target("ask.test:81")).verdict == EgressVerdict::kAsk);
  CHECK_FALSE(DecisionTable("e", {}, false, authorizer, &overrides, &kDirect).asks());
}

TEST_CASE("overrides are read in one spelling") {
  CHECK(ParseEgressOverride("a.test:80=[::1]:8080")->address == "::1");
  for (const char* text :
       {"", "a.test:80", "a.test:80=", "a.test:80=b.test:80", "*.test:80=1.2.3.4:5",
        "a.test:*=1.2.3.4:5", "a.test:80=1.2.3.4:*", "a.test:80=1.2.3:5"}) {
    INFO(text);
    CHECK_FALSE(ParseEgressOverride(text).ok());
  }
}

}  // namespace
}  // namespace cordon::internal::egress
