#include "cordon/gate/gate.h"

#include <utility>
#include <variant>

#include "assessment.h"
#include "cordon/gate/approver.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "decider.h"
#include "egress_gate.h"
#include "redirections.h"

namespace cordon {
namespace {

using internal::AssessedRequirement;
using internal::Assessment;
using internal::Decider;
using internal::Standing;

class GateImpl final : public Gate {
 public:
  explicit GateImpl(GateOptions options)
      : decider_(std::make_shared<Decider>(std::move(options))) {}

  void AddAuthority(std::shared_ptr<GrantAuthority> authority) override {
    if (authority != nullptr) decider_->AddAuthority(std::move(authority));
  }

  absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request& request,
                                                  std::stop_token stop) override {
    const absl::StatusOr<Request> complete = Complete(request);
    if (!complete.ok()) return decider_->log().Refused(request, complete.status());
    return decider_->Admit(*complete, std::move(stop));
  }

  std::vector<absl::StatusOr<std::unique_ptr<Admitted>>> AdmitTogether(
      absl::Span<const Request> requests, std::stop_token stop) override {
    if (!decider_->options().approver->CanAskTogether()) return {};
    std::vector<Request> complete;
    for (const Request& request : requests) {
      absl::StatusOr<Request> one = Complete(request);
      // One by one, each gets its own error.
      if (!one.ok()) return {};
      complete.push_back(*std::move(one));
    }
    return decider_->AdmitTogether(complete, stop);
  }

  absl::StatusOr<Forecast> Explain(const Request& request) override;

  std::shared_ptr<EgressGate> MakeEgressGate(EgressGateOptions options) override {
    return internal::NewEgressGate(decider_, options);
  }

 private:
  // A valid request with all that it needs.
  [[nodiscard]] absl::StatusOr<Request> Complete(const Request& request) const {
    if (absl::Status status = ValidateRequest(request); !status.ok()) return status;
    return internal::WithRedirections(request, decider_->options().profile);
  }

  const std::shared_ptr<Decider> decider_;
};

absl::StatusOr<Forecast> GateImpl::Explain(const Request& request) {
  const absl::StatusOr<Request> complete = Complete(request);
  if (!complete.ok()) return complete.status();
  const absl::StatusOr<Assessment> assessment = decider_->Assess(*complete);
  if (!assessment.ok()) return assessment.status();
  Forecast forecast{Access::kAllow, {}};
  for (const AssessedRequirement& assessed : *assessment) {
    forecast.reasons.push_back(internal::DescribeStanding(assessed));
    switch (assessed.standing) {
      case Standing::kDeniedByProfile:
      case Standing::kDeniedByRule:
        forecast.access = Access::kDeny;
        break;
      case Standing::kPending:
        forecast.access = Min(forecast.access, Access::kGated);
        break;
      case Standing::kAllowed:
        break;
    }
  }
  for (std::string& line : internal::RedirectionsThatFail(request, decider_->options().profile)) {
    forecast.reasons.push_back("starts all the same, but " + std::move(line));
  }
  if (const auto* none = std::get_if<NoAuthority>(&request.authority)) {
    forecast.reasons.push_back("needs no authority: " + EscapeForDisplay(none->reason));
  }
  return forecast;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Gate>> Gate::Create(GateOptions options) {
  if (!options.profile.valid()) {
    return MakeError(ErrorCode::kInvalidOption, "a gate needs a profile");
  }
  if (options.grant_ttl.count() <= 0 || options.grant_ttl > GrantAuthority::kMaxTtl) {
    return MakeError(ErrorCode::kInvalidOption,
                     "a gate's grant_ttl must be positive and at most 15 minutes");
  }
  if (options.approval_timeout.count() <= 0) {
    return MakeError(ErrorCode::kInvalidOption, "a gate's approval_timeout must be positive");
  }
  const bool needs_disk = options.profile.Settings().audit == AuditMode::kDurable;
  if (needs_disk && options.log != nullptr && !options.log->IsDurable()) {
    return MakeError(ErrorCode::kInvalidOption,
                     "the profile's \"audit\" is durable and the gate's log is not; open it with "
                     "AuditSync::kEachRecord");
  }
  if (options.rules == nullptr) options.rules = RuleSet::InMemory();
  if (options.approver == nullptr) options.approver = std::make_shared<NoApprover>();
  if (!options.clock) options.clock = std::chrono::steady_clock::now;
  std::vector<std::shared_ptr<GrantAuthority>> authorities = std::exchange(options.authorities, {});
  auto gate = std::make_unique<GateImpl>(std::move(options));
  for (std::shared_ptr<GrantAuthority>& authority : authorities) {
    gate->AddAuthority(std::move(authority));
  }
  return gate;
}

}  // namespace cordon
