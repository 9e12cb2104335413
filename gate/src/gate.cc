#include "cordon/gate/gate.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <variant>

#include "assessment.h"
#include "cordon/gate/approver.h"
#include "cordon/sdk/status.h"
#include "gate_log.h"
#include "remembering.h"
#include "turn_queue.h"

namespace cordon {
namespace {

using internal::AssessedRequirement;
using internal::Assessment;
using internal::Standing;

// What a gate and its decisions share; decisions may outlive their gate.
struct GateState {
  explicit GateState(GateOptions given)
      : options(std::move(given)), log(options.log, options.log_required) {}

  std::shared_ptr<GrantAuthority> AuthorityOf(const std::string& executor_id) {
    const std::lock_guard lock(authorities_mutex);
    const auto it = authorities.find(executor_id);
    return it == authorities.end() ? nullptr : it->second;
  }

  absl::StatusOr<Assessment> AssessNow(const Request& request) {
    return internal::Assess(options.profile, *options.rules, request);
  }

  const GateOptions options;
  const internal::GateLog log;
  internal::TurnQueue questions;
  std::mutex authorities_mutex;
  std::map<std::string, std::shared_ptr<GrantAuthority>> authorities;
};

bool SamePlace(const Requirement& a, const Requirement& b) {
  return a.kind == b.kind && a.scope == b.scope && a.match == b.match;
}

bool Holds(const std::vector<Requirement>& list, const Requirement& wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&wanted](const Requirement& item) { return SamePlace(item, wanted); });
}

absl::Status StaleError() {
  return MakeError(ErrorCode::kApprovalStale,
                   "rules changed while the request was being decided; ask again");
}

// Whether everything that `assessment` leaves to a person was approved by one.
absl::Status CheckApproved(const Assessment& assessment, const std::vector<Requirement>& approved) {
  if (internal::HasDenied(assessment)) return internal::DeniedError(assessment);
  for (const Requirement& requirement : internal::Pending(assessment)) {
    if (!Holds(approved, requirement)) return StaleError();
  }
  return absl::OkStatus();
}

class AdmittedRequest final : public Admitted {
 public:
  AdmittedRequest(std::shared_ptr<GateState> state, Request request,
                  std::vector<Requirement> approved)
      : state_(std::move(state)), request_(std::move(request)), approved_(std::move(approved)) {}

  absl::StatusOr<std::vector<Grant>> Mint() override {
    if (std::exchange(minted_, true)) {
      return MakeError(ErrorCode::kInvalidRequest, "the grants of this request were minted before");
    }
    absl::StatusOr<std::vector<Grant>> grants = MintOnce();
    if (!grants.ok()) return state_->log.Refused(request_, grants.status());
    return grants;
  }

 private:
  absl::StatusOr<std::vector<Grant>> MintOnce() {
    const absl::StatusOr<Assessment> assessment = state_->AssessNow(request_);
    if (!assessment.ok()) return assessment.status();
    if (absl::Status status = CheckApproved(*assessment, approved_); !status.ok()) return status;
    if (!state_->options.rules->TakeUses(RulesUsed(*assessment))) return StaleError();
    std::vector<Grant> grants;
    for (const AssessedRequirement& assessed : *assessment) {
      if (assessed.access != Access::kGated || !request_.binding.has_value()) continue;
      absl::StatusOr<Grant> grant = Issue(assessed.requirement);
      if (!grant.ok()) return grant.status();
      grants.push_back(*std::move(grant));
    }
    return grants;
  }

  // A person's answer needs no rule.
  std::vector<std::string> RulesUsed(const Assessment& assessment) const {
    std::vector<std::string> ids;
    for (const AssessedRequirement& assessed : assessment) {
      if (assessed.rule.verdict != RuleDecision::Verdict::kAllow) continue;
      if (Holds(approved_, assessed.requirement)) continue;
      for (const std::string& id : assessed.rule.ids) {
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
    }
    return ids;
  }

  absl::StatusOr<Grant> Issue(const Requirement& requirement) {
    const std::shared_ptr<GrantAuthority> authority =
        state_->AuthorityOf(request_.binding->executor_id);
    if (authority == nullptr) {
      return MakeError(ErrorCode::kGrantWrongExecutor,
                       "the gate has no grant authority for this executor");
    }
    const std::chrono::milliseconds ttl = state_->options.grant_ttl;
    absl::Status logged = state_->log.Issued(request_, requirement, ttl);
    if (!logged.ok()) return logged;
    return authority->Issue(*request_.binding, requirement.subject, ttl);
  }

  const std::shared_ptr<GateState> state_;
  const Request request_;
  const std::vector<Requirement> approved_;  // By a person.
  bool minted_ = false;
};

class GateImpl final : public Gate {
 public:
  explicit GateImpl(GateOptions options)
      : state_(std::make_shared<GateState>(std::move(options))) {}

  void AddAuthority(std::shared_ptr<GrantAuthority> authority) override {
    if (authority == nullptr) return;
    const std::lock_guard lock(state_->authorities_mutex);
    std::string id = authority->executor_id();
    state_->authorities.insert_or_assign(std::move(id), std::move(authority));
  }

  absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request& request,
                                                  std::stop_token stop) override;
  absl::StatusOr<Forecast> Explain(const Request& request) override;

 private:
  absl::StatusOr<std::unique_ptr<Admitted>> Decide(const Request& request, std::stop_token stop);
  absl::Status CheckBinding(const Request& request, const Assessment& assessment);
  // What a person approved; nothing when meanwhile nothing was left to ask.
  absl::StatusOr<std::vector<Requirement>> AskPerson(const Request& request, std::stop_token stop);
  absl::StatusOr<ApprovalAnswer> Question(const ApprovalCard& card, const Assessment& assessment,
                                          std::stop_token stop);
  absl::Status Remember(cordon::Remember how, std::vector<Rule> rules);

  const std::shared_ptr<GateState> state_;
};

absl::StatusOr<std::unique_ptr<Admitted>> GateImpl::Admit(const Request& request,
                                                          std::stop_token stop) {
  if (absl::Status status = ValidateRequest(request); !status.ok()) {
    return state_->log.Refused(request, std::move(status));
  }
  if (absl::Status status = state_->log.Asked(request); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Admitted>> admitted = Decide(request, std::move(stop));
  if (!admitted.ok()) return state_->log.Refused(request, admitted.status());
  return admitted;
}

absl::StatusOr<std::unique_ptr<Admitted>> GateImpl::Decide(const Request& request,
                                                           std::stop_token stop) {
  absl::StatusOr<Assessment> assessment = state_->AssessNow(request);
  if (!assessment.ok()) return assessment.status();
  if (internal::HasDenied(*assessment)) return internal::DeniedError(*assessment);
  if (absl::Status status = CheckBinding(request, *assessment); !status.ok()) return status;

  std::vector<Requirement> approved;
  if (!internal::Pending(*assessment).empty()) {
    absl::StatusOr<std::vector<Requirement>> answered = AskPerson(request, std::move(stop));
    if (!answered.ok()) return answered.status();
    approved = *std::move(answered);
    // For the record: an earlier answer may have become a rule meanwhile.
    assessment = state_->AssessNow(request);
    if (!assessment.ok()) return assessment.status();
  }
  const std::string_view by = approved.empty() ? "profile and rules" : "person";
  if (absl::Status status = state_->log.Admitted(request, by, *assessment); !status.ok()) {
    return status;
  }
  return std::make_unique<AdmittedRequest>(state_, request, std::move(approved));
}

// Grants that could not be redeemed are refused before anybody is asked for them.
absl::Status GateImpl::CheckBinding(const Request& request, const Assessment& assessment) {
  if (!request.binding.has_value()) return absl::OkStatus();
  if (request.binding->profile_fingerprint != state_->options.profile.Fingerprint()) {
    return MakeError(ErrorCode::kInvalidRequest,
                     "the request is bound to another profile than the gate decides by");
  }
  const bool needs_grant = std::any_of(
      assessment.begin(), assessment.end(),
      [](const AssessedRequirement& assessed) { return assessed.access == Access::kGated; });
  if (needs_grant && state_->AuthorityOf(request.binding->executor_id) == nullptr) {
    return MakeError(ErrorCode::kInvalidRequest,
                     "the gate has no grant authority for the executor of this request; add it "
                     "with AddAuthority");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Requirement>> GateImpl::AskPerson(const Request& request,
                                                             std::stop_token stop) {
  const internal::TurnQueue::Turn turn = state_->questions.Enter(stop);
  if (!turn || stop.stop_requested()) {
    return MakeError(ErrorCode::kCancelled, "cancelled before a person was asked");
  }
  // The answer to an earlier question may have settled this one.
  const absl::StatusOr<Assessment> before = state_->AssessNow(request);
  if (!before.ok()) return before.status();
  if (internal::HasDenied(*before)) return internal::DeniedError(*before);
  const std::vector<Requirement> pending = internal::Pending(*before);
  if (pending.empty()) return pending;

  const GateOptions& options = state_->options;
  std::vector<Rule> rules =
      internal::RulesToRemember(pending, request, options.profile.Settings().workspace_root);
  ApprovalCard card{request, pending, RequestDigest(request), {}, {}, false};
  for (const Rule& rule : rules) card.would_store.push_back(RuleText(rule));
  card.can_persist = !rules.empty() && options.rules->has_file();
  card.expires = options.clock() + options.approval_timeout;

  absl::StatusOr<ApprovalAnswer> answer = Question(card, *before, stop);
  if (!answer.ok()) return answer.status();
  const absl::StatusOr<Assessment> after = state_->AssessNow(request);
  if (!after.ok()) return after.status();
  if (absl::Status status = CheckApproved(*after, pending); !status.ok()) return status;
  absl::Status logged = state_->log.Approved(request, answer->remember);
  if (!logged.ok()) return logged;
  if (absl::Status status = Remember(answer->remember, std::move(rules)); !status.ok()) {
    return status;
  }
  return pending;
}

// An approval, or the typed error for every other end of the question.
absl::StatusOr<ApprovalAnswer> GateImpl::Question(const ApprovalCard& card,
                                                  const Assessment& assessment,
                                                  std::stop_token stop) {
  absl::StatusOr<ApprovalAnswer> answer =
      MakeError(ErrorCode::kNoApprover, "the approver failed while it was asked");
  try {
    answer = state_->options.approver->Ask(card, stop);
  } catch (const std::exception&) {
    // The error above stands: an approver that throws has not approved.
  }
  if (!answer.ok()) {
    const ErrorCode code =
        ErrorOf(answer.status()).value_or(Error{ErrorCode::kNoApprover, {}, 0}).code;
    const absl::string_view message = answer.status().message();
    return internal::PendingError(code, std::string(message.data(), message.size()), assessment);
  }
  if (stop.stop_requested()) {
    return internal::PendingError(ErrorCode::kCancelled, "cancelled while a person was asked",
                                  assessment);
  }
  if (answer->digest != card.digest) {
    return internal::PendingError(ErrorCode::kApprovalStale,
                                  "the answer is for another question and has no effect",
                                  assessment);
  }
  if (state_->options.clock() > card.expires) {
    return internal::PendingError(ErrorCode::kApprovalTimedOut,
                                  "the answer came too late and has no effect", assessment);
  }
  if (!answer->approved) {
    std::string message = "a person refused";
    if (!answer->words.empty()) message += ", saying \"" + EscapeForDisplay(answer->words) + "\"";
    return internal::PendingError(ErrorCode::kRefusedByPerson, message, assessment);
  }
  return answer;
}

absl::Status GateImpl::Remember(cordon::Remember how, std::vector<Rule> rules) {
  switch (how) {
    case cordon::Remember::kOnce:
      return absl::OkStatus();
    case cordon::Remember::kSession:
    case cordon::Remember::kAlways:
      break;
  }
  if (rules.empty()) {
    return MakeError(ErrorCode::kApprovalStale,
                     "the approval was to be remembered, which was not offered");
  }
  return state_->options.rules->Add(std::move(rules), how == cordon::Remember::kAlways);
}

absl::StatusOr<Forecast> GateImpl::Explain(const Request& request) {
  if (absl::Status status = ValidateRequest(request); !status.ok()) return status;
  const absl::StatusOr<Assessment> assessment = state_->AssessNow(request);
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
