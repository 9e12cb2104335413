#include "egress.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::cli {
namespace {

using Decision = absl::StatusOr<std::unique_ptr<Admitted>>;

class NoGrants final : public Admitted {
 public:
  absl::StatusOr<std::vector<Grant>> Mint() override { return std::vector<Grant>(); }
};

// Admits what is not called "no", together when it is asked to.
class StepGate final : public Admission {
 public:
  explicit StepGate(bool together) : together_(together) {}

  Decision Admit(const Request& request, std::stop_token /*stop*/) override {
    if (request.execution_id == "no") return MakeError(ErrorCode::kRefusedByPerson, "no");
    return std::make_unique<NoGrants>();
  }
  std::vector<Decision> AdmitTogether(absl::Span<const Request> requests,
                                      std::stop_token stop) override {
    std::vector<Decision> decisions;
    if (!together_) return decisions;
    ++steps;
    for (const Request& request : requests) decisions.push_back(Admit(request, stop));
    return decisions;
  }

  int steps = 0;

 private:
  const bool together_;
};

// Remembers who entered, and refuses "full".
class Entrance final : public EgressGate {
 public:
  absl::Status Enter(const Request& request) override {
    if (request.execution_id == "full") return MakeError(ErrorCode::kClosed, "no room");
    entered.push_back(request.execution_id);
    return absl::OkStatus();
  }
  void Leave(const std::string& /*execution_id*/) override {}
  absl::StatusOr<EgressDecision> Decide(const std::string& /*execution_id*/,
                                        const NetworkTarget& /*target*/) override {
    return EgressDecision{EgressVerdict::kDeny, "not granted"};
  }
  void Ask(const std::string& /*execution_id*/, const NetworkTarget& /*target*/,
           std::function<void(EgressDecision)> answer) override {
    answer({EgressVerdict::kDeny, "not granted"});
  }

  std::vector<std::string> entered;
};

std::vector<Request> Step(const std::vector<std::string>& ids) {
  std::vector<Request> requests;
  for (const std::string& id : ids) {
    Request request;
    request.execution_id = id;
    request.command = Command::Argv({"true"}, "/");
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST_CASE("the calls of a step reach the gate together, and those that it admits enter") {
  const auto egress = SessionEgress::Create({}, NetworkRoute::kDirect, nullptr, true).value();
  StepGate gate(true);
  const auto entrance = std::make_shared<Entrance>();
  const auto admission = egress->DecideWith(gate, entrance);
  const auto decisions = admission->AdmitTogether(Step({"one", "no", "full", "two"}), {});
  REQUIRE(decisions.size() == 4);
  CHECK(gate.steps == 1);
  CHECK(decisions[0].ok());
  CHECK(Is(decisions[1].status(), ErrorCode::kRefusedByPerson));
  CHECK(Is(decisions[2].status(), ErrorCode::kClosed));
  CHECK(decisions[3].ok());
  CHECK(entrance->entered == std::vector<std::string>{"one", "two"});
}

TEST_CASE("a gate that decides one by one is asked one by one, also without egress decisions") {
  for (const bool decides : {true, false}) {
    const auto egress = SessionEgress::Create({}, NetworkRoute::kDirect, nullptr, decides).value();
    StepGate gate(false);
    const auto entrance = std::make_shared<Entrance>();
    const auto admission = egress->DecideWith(gate, entrance);
    CHECK(admission->AdmitTogether(Step({"one", "two"}), {}).empty());
    CHECK(admission->Admit(Step({"one"})[0], {}).ok());
    CHECK(entrance->entered.size() == (decides ? 1U : 0U));
  }
}

}  // namespace
}  // namespace cordon::cli
