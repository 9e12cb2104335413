#include "decider.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "cordon/sdk/status.h"
#include "remembering.h"

namespace cordon::internal {
namespace {

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
  if (HasDenied(assessment)) return DeniedError(assessment);
  for (const Requirement& requirement : Pending(assessment)) {
    if (!Holds(approved, requirement)) return StaleError();
  }
  return absl::OkStatus();
}

class AdmittedRequest final : public Admitted {
 public:
  AdmittedRequest(std::shared_ptr<Decider> decider, Request request,
                  std::vector<Requirement> approved)
      : decider_(std::move(decider)),
        request_(std::move(request)),
        approved_(std::move(approved)) {}

  absl::StatusOr<std::vector<Grant>> Mint() override {
    if (std::exchange(minted_, true)) {
      return MakeError(ErrorCode::kInvalidRequest, "the grants of this request were minted before");
    }
    absl::StatusOr<std::vector<Grant>> grants = MintOnce();
    if (!grants.ok()) return decider_->log().Refused(request_, grants.status());
    return grants;
  }

 private:
  absl::StatusOr<std::vector<Grant>> MintOnce() {
    const absl::StatusOr<Assessment> assessment = decider_->Assess(request_);
    if (!assessment.ok()) return assessment.status();
    if (absl::Status status = CheckApproved(*assessment, approved_); !status.ok()) return status;
    if (!decider_->options().rules->TakeUses(RulesUsed(*assessment))) return StaleError();
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
        decider_->AuthorityOf(request_.binding->executor_id);
    if (authority == nullptr) {
      return MakeError(ErrorCode::kGrantWrongExecutor,
                       "the gate has no grant authority for this executor");
    }
    const std::chrono::milliseconds ttl = decider_->options().grant_ttl;
    absl::Status logged = decider_->log().Issued(request_, requirement, ttl);
    if (!logged.ok()) return logged;
    return authority->Issue(*request_.binding, requirement.subject, ttl);
  }

  const std::shared_ptr<Decider> decider_;
  const Request request_;
  const std::vector<Requirement> approved_;  // By a person.
  bool minted_ = false;
};

}  // namespace

Decider::Decider(GateOptions options)
    : options_(std::move(options)), log_(options_.log, options_.log_required) {}

void Decider::AddAuthority(std::shared_ptr<GrantAuthority> authority) {
  const std::lock_guard lock(authorities_mutex_);
  std::string id = authority->executor_id();
  authorities_.insert_or_assign(std::move(id), std::move(authority));
}

std::shared_ptr<GrantAuthority> Decider::AuthorityOf(const std::string& executor_id) {
  const std::lock_guard lock(authorities_mutex_);
  const auto it = authorities_.find(executor_id);
  return it == authorities_.end() ? nullptr : it->second;
}

absl::StatusOr<Assessment> Decider::Assess(const Request& request) {
  return internal::Assess(options_.profile, *options_.rules, request);
}

absl::StatusOr<std::unique_ptr<Admitted>> Decider::Admit(const Request& request,
                                                         std::stop_token stop) {
  if (absl::Status status = log_.Asked(request); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Admitted>> admitted = Decide(request, std::move(stop));
  if (!admitted.ok()) return log_.Refused(request, admitted.status());
  return admitted;
}

absl::StatusOr<std::unique_ptr<Admitted>> Decider::Decide(const Request& request,
                                                          std::stop_token stop) {
  absl::StatusOr<Assessment> assessment = Assess(request);
  if (!assessment.ok()) return assessment.status();
  if (HasDenied(*assessment)) return DeniedError(*assessment);
  if (absl::Status status = CheckBinding(request, *assessment); !status.ok()) return status;

  std::vector<Requirement> approved;
  if (!Pending(*assessment).empty()) {
    absl::StatusOr<std::vector<Requirement>> answered = AskPerson(request, std::move(stop));
    if (!answered.ok()) return answered.status();
    approved = *std::move(answered);
    // For the record: an earlier answer may have become a rule meanwhile.
    assessment = Assess(request);
    if (!assessment.ok()) return assessment.status();
  }
  const std::string_view by = approved.empty() ? "profile and rules" : "person";
  if (absl::Status status = log_.Admitted(request, by, *assessment); !status.ok()) {
    return status;
  }
  return std::make_unique<AdmittedRequest>(shared_from_this(), request, std::move(approved));
}

// Grants that could not be redeemed are refused before anybody is asked for them.
absl::Status Decider::CheckBinding(const Request& request, const Assessment& assessment) {
  if (!request.binding.has_value()) return absl::OkStatus();
  if (request.binding->profile_fingerprint != options_.profile.Fingerprint()) {
    return MakeError(ErrorCode::kInvalidRequest,
                     "the request is bound to another profile than the gate decides by");
  }
  const bool needs_grant = std::any_of(
      assessment.begin(), assessment.end(),
      [](const AssessedRequirement& assessed) { return assessed.access == Access::kGated; });
  if (needs_grant && AuthorityOf(request.binding->executor_id) == nullptr) {
    return MakeError(ErrorCode::kInvalidRequest,
                     "the gate has no grant authority for the executor of this request; add it "
                     "with AddAuthority");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Requirement>> Decider::AskPerson(const Request& request,
                                                            std::stop_token stop) {
  const TurnQueue::Turn turn = questions_.Enter(stop);
  if (!turn || stop.stop_requested()) {
    return MakeError(ErrorCode::kCancelled, "cancelled before a person was asked");
  }
  // The answer to an earlier question may have settled this one.
  const absl::StatusOr<Assessment> before = Assess(request);
  if (!before.ok()) return before.status();
  if (HasDenied(*before)) return DeniedError(*before);
  const std::vector<Requirement> pending = Pending(*before);
  if (pending.empty()) return pending;

  const std::vector<RuleProgram> programs = request.command.has_value()
                                                ? options_.rules->ProgramsOf(*request.command)
                                                : std::vector<RuleProgram>{};
  std::vector<Rule> rules =
      RulesToRemember(pending, request, options_.profile.Settings().workspace_root, programs);
  ApprovalCard card;
  card.request = request;
  card.pending = pending;
  card.digest = RequestDigest(request);
  for (const Rule& rule : rules) card.would_store.push_back(RuleText(rule));
  card.can_persist = !rules.empty() && options_.rules->has_file();
  card.expires = options_.clock() + options_.approval_timeout;

  absl::StatusOr<ApprovalAnswer> answer = Question(card, *before, stop);
  if (!answer.ok()) return answer.status();
  const absl::StatusOr<Assessment> after = Assess(request);
  if (!after.ok()) return after.status();
  if (absl::Status status = CheckApproved(*after, pending); !status.ok()) return status;
  absl::Status logged = log_.Approved(request, answer->remember);
  if (!logged.ok()) return logged;
  if (absl::Status status = Remember(answer->remember, std::move(rules)); !status.ok()) {
    return status;
  }
  return pending;
}

// An approval, or the typed error for every other end of the question.
absl::StatusOr<ApprovalAnswer> Decider::Question(const ApprovalCard& card,
                                                 const Assessment& assessment,
                                                 std::stop_token stop) {
  absl::StatusOr<ApprovalAnswer> answer =
      MakeError(ErrorCode::kNoApprover, "the approver failed while it was asked");
  try {
    answer = options_.approver->Ask(card, stop);
  } catch (const std::exception&) {
    // The error above stands: an approver that throws has not approved.
  }
  if (!answer.ok()) {
    const ErrorCode code =
        ErrorOf(answer.status()).value_or(Error{ErrorCode::kNoApprover, {}, 0}).code;
    const absl::string_view message = answer.status().message();
    return PendingError(code, std::string(message.data(), message.size()), assessment);
  }
  if (stop.stop_requested()) {
    return PendingError(ErrorCode::kCancelled, "cancelled while a person was asked", assessment);
  }
  if (answer->digest != card.digest) {
    return PendingError(ErrorCode::kApprovalStale,
                        "the answer is for another question and has no effect", assessment);
  }
  if (options_.clock() > card.expires) {
    return PendingError(ErrorCode::kApprovalTimedOut, "the answer came too late and has no effect",
                        assessment);
  }
  if (!answer->approved) {
    std::string message = "a person refused";
    if (!answer->words.empty()) message += ", saying \"" + EscapeForDisplay(answer->words) + "\"";
    return PendingError(ErrorCode::kRefusedByPerson, message, assessment);
  }
  return answer;
}

absl::Status Decider::Remember(cordon::Remember how, std::vector<Rule> rules) {
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
  return options_.rules->Add(std::move(rules), how == cordon::Remember::kAlways);
}

}  // namespace cordon::internal
