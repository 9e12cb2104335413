// The calls of one model step on one card; the forms in which an approval is remembered; cards and
// answers as JSON.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gate_bench.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon {
namespace {

using internal::GateBench;
using internal::Mentions;
using internal::Target;
using internal::Yes;

// Answers cards together by what the case says.
class TogetherApprover : public Approver {
 public:
  using Cards = absl::Span<const ApprovalCard>;
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token) override {
    ++alone;
    return ApprovalAnswer{true, Remember::kOnce, "", card.digest, 0};
  }
  bool CanAskTogether() const override { return true; }
  absl::StatusOr<std::vector<ApprovalAnswer>> AskTogether(Cards cards, std::stop_token) override {
    together.push_back(cards.size());
    return on_ask(cards);
  }
  static std::vector<ApprovalAnswer> All(Cards cards, bool yes, Remember how = Remember::kOnce) {
    std::vector<ApprovalAnswer> answers;
    for (const ApprovalCard& card : cards) answers.push_back({yes, how, "", card.digest, 0});
    return answers;
  }
  std::function<absl::StatusOr<std::vector<ApprovalAnswer>>(Cards)> on_ask;
  std::vector<std::size_t> together;
  int alone = 0;
};

struct Step : GateBench {
  Step() : person(std::make_shared<TogetherApprover>()) { options.approver = person; }
  Request Call(const std::string& id, const std::string& text) const {
    Request request = RequestOf(text);
    request.call_id = id;
    request.execution_id = request.binding->execution_id = id;
    return request;
  }
  auto Admit(const std::vector<Request>& requests) { return gate().AdmitTogether(requests, {}); }
  std::shared_ptr<TogetherApprover> person;
};

TEST_CASE("the calls of a step are asked about on one card, and each gets its own answer") {
  Step step;
  step.person->on_ask = [](auto cards) {
    auto answers = TogetherApprover::All(cards, true);
    answers[1].approved = false;
    return answers;
  };
  const auto decisions =
      step.Admit({step.Call("a", "one"), step.Call("b", "two"), step.Call("c", "three")});
  REQUIRE(decisions.size() == 3);
  CHECK(decisions[0].ok());
  CHECK(Is(decisions[1].status(), ErrorCode::kRefusedByPerson));
  CHECK(decisions[2].ok());
  CHECK(decisions[0].value()->Mint().value().size() == 1);
  CHECK(step.person->together == std::vector<std::size_t>{3});
  CHECK(step.person->alone == 0);
  CHECK(step.log.Has("request b tool=bash"));
  CHECK(step.log.Has("refused b code=refused_by_person"));
}

TEST_CASE("only what needs a person is on the card, and a denial fails only its own call") {
  Step step;
  Rule rule = MakeRule(RuleEffect::kDeny, RuleMatch::kCommandFamily, "rm").value();
  REQUIRE(step.options.rules->Add({rule}, false).ok());
  rule = MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, "known").value();
  REQUIRE(step.options.rules->Add({rule}, false).ok());
  step.person->on_ask = [](auto cards) { return TogetherApprover::All(cards, true); };
  const auto decisions = step.Admit({step.Call("a", "rm x"), step.Call("b", "known"),
                                     step.Call("c", "one"), step.Call("d", "two")});
  CHECK(Is(decisions[0].status(), ErrorCode::kDeniedByRule));
  CHECK(decisions[1].ok());
  CHECK(decisions[2].ok());
  CHECK(decisions[3].ok());
  CHECK(step.person->together == std::vector<std::size_t>{2});
}

TEST_CASE("a single question is asked by itself") {
  Step step;
  const auto decisions = step.Admit({step.Call("a", "one")});
  CHECK(decisions[0].ok());
  CHECK(step.person->alone == 1);
  CHECK(step.person->together.empty());
}

TEST_CASE("answers that are for other cards, too few, or an exception approve nothing") {
  Step step;
  const std::vector<Request> calls = {step.Call("a", "one"), step.Call("b", "two")};
  SECTION("swapped") {
    step.person->on_ask = [](auto cards) {
      auto answers = TogetherApprover::All(cards, true);
      std::swap(answers[0], answers[1]);
      return answers;
    };
    for (const auto& decision : step.Admit(calls)) {
      CHECK(Is(decision.status(), ErrorCode::kApprovalStale));
    }
  }
  SECTION("too few") {
    step.person->on_ask = [](auto cards) {
      auto answers = TogetherApprover::All(cards, true);
      answers.pop_back();
      return answers;
    };
    for (const auto& decision : step.Admit(calls)) {
      CHECK(Is(decision.status(), ErrorCode::kNoApprover));
    }
  }
  SECTION("an exception") {
    step.person->on_ask = [](auto) -> std::vector<ApprovalAnswer> {
      throw std::runtime_error("broken");
    };
    for (const auto& decision : step.Admit(calls)) {
      CHECK(Is(decision.status(), ErrorCode::kNoApprover));
    }
  }
  CHECK(step.person->alone == 0);
}

TEST_CASE("a gate whose approver asks one by one, or an invalid call, decides one by one") {
  GateBench bench({Yes(), Yes()});
  CHECK(bench.gate().AdmitTogether(std::vector<Request>{bench.RequestOf("a")}, {}).empty());
  Step step;
  Request invalid = step.Call("b", "two");
  invalid.tool.clear();
  CHECK(step.Admit({step.Call("a", "one"), invalid}).empty());
}

// --- forms

struct Forms : GateBench {
  using GateBench::GateBench;
  ApprovalCard CardOf(const Request& request) {
    (void)gate().Admit(request, {});
    return approver->cards().back();
  }
};

ApprovalAnswer Always(std::size_t form) { return {true, Remember::kAlways, "", {}, form}; }

TEST_CASE("an approval is stored in the form that was chosen") {
  Forms bench({Always(2)});
  const ApprovalCard card = bench.CardOf(bench.RequestOf("git status && git log -3"));
  REQUIRE(card.wider.size() == 2);
  CHECK(card.would_store[0].find("allow exact \"git status && git log -3\"") == 0);
  CHECK(card.wider[0].rules[0].find(" until ") != std::string::npos);
  CHECK(card.wider[1].rules.size() == 2);
  const std::vector<Rule> rules = LoadRuleFile(bench.folder.Path("rules")).value();
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].match == RuleMatch::kCommandFamily);
  CHECK(rules[0].text == "git status");
  CHECK(rules[1].text == "git log");
  CHECK(rules[1].directory == bench.folder.Path());
}

TEST_CASE("what no family covers has no wider form, and a form that was not offered is stale") {
  Forms bench({Always(2)});
  const Request request = bench.RequestOf("./run.sh $(id)");
  const absl::Status status = bench.gate().Admit(request, {}).status();
  CHECK(bench.approver->cards().back().wider.size() == 1);
  CHECK(Is(status, ErrorCode::kApprovalStale));
  CHECK(Is(LoadRuleFile(bench.folder.Path("rules")).status(), ErrorCode::kNotFound));
}

TEST_CASE("the wider form of a target is its domain, never a whole top-level one") {
  Forms bench({Always(2), internal::No()}, Access::kAllow);
  (void)bench.CardOf(bench.RequestOf("x", {Target("api.b.example:443")}));
  CHECK(LoadRuleFile(bench.folder.Path("rules")).value()[0].text == "*.b.example:443");
  const ApprovalCard card = bench.CardOf(bench.RequestOf("y", {Target("other.example:443")}));
  CHECK(card.wider.size() == 1);
}

// --- JSON

TEST_CASE("a card and its answer pass through JSON, and nothing else is an answer") {
  Forms bench({internal::No()});
  const ApprovalCard card = bench.CardOf(bench.RequestOf("echo \x1b >x"));
  const auto json = nlohmann::json::parse(ApprovalCardJson(card));
  CHECK(json["digest"] == DigestHex(card.digest));
  CHECK(json["command"] == "echo \\x1b >x");
  CHECK(json["asks_for"][0]["kind"] == "command.execute");
  CHECK(json["forms"][0]["rules"][0] == card.would_store[0]);

  const std::string digest = "{\"digest\":\"" + DigestHex(card.digest) + "\",";
  const auto answer =
      ApprovalAnswerFromJson(digest + "\"approved\":true,\"remember\":\"session\",\"form\":1}");
  REQUIRE(answer.ok());
  CHECK(answer->approved);
  CHECK(answer->digest == card.digest);
  CHECK(answer->remember == Remember::kSession);
  CHECK(answer->form == 1);
  CHECK_FALSE(ApprovalAnswerFromJson(digest + "\"approved\":false}").value().approved);
  for (const std::string& text :
       {std::string("{}"), std::string("yes"), std::string("{\"approved\":true}"),
        digest + "\"approved\":1}", digest + "\"approved\":\"true\"}",
        digest + "\"approved\":true,\"approved\":true}", digest + "\"approved\":true,\"x\":1}",
        digest + "\"approved\":true,\"remember\":\"ever\"}",
        std::string("{\"digest\":\"ab\",\"approved\":true}")}) {
    CAPTURE(text);
    CHECK(Is(ApprovalAnswerFromJson(text).status(), ErrorCode::kInvalidArguments));
  }
}

}  // namespace
}  // namespace cordon
