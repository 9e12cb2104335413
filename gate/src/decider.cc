#include "decider.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "effects.h"
#include "prompt.h"
#include "redirections.h"
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

bool RequiresLog(const GateOptions& options) {
  return options.log_required || options.profile.Settings().audit != AuditMode::kOptional;
}

}  // namespace

Decider::Decider(GateOptions options)
    : options_(std::move(options)), log_(options_.log, RequiresLog(options_)) {}

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

Decider::Decision Decider::Admit(const Request& request, std::stop_token stop) {
  if (absl::Status status = log_.Asked(request); !status.ok()) return status;
  return DecideLogged(request, stop);
}

Decider::Decision Decider::DecideLogged(const Request& request, const std::stop_token& stop) {
  Decision admitted = Decide(request, stop);
  if (!admitted.ok()) return log_.Refused(request, admitted.status());
  return admitted;
}

Decider::Decision Decider::Decide(const Request& request, const std::stop_token& stop) {
  const absl::StatusOr<Assessment> assessment = Assess(request);
  if (!assessment.ok()) return assessment.status();
  if (HasDenied(*assessment)) return DeniedError(*assessment);
  if (absl::Status status = CheckBinding(request, *assessment); !status.ok()) return status;
  std::vector<Requirement> approved;
  if (!Pending(*assessment).empty()) {
    absl::StatusOr<std::vector<Requirement>> answered = AskPerson(request, stop);
    if (!answered.ok()) return answered.status();
    approved = *std::move(answered);
  }
  return Finish(request, std::move(approved));
}

// Records what decided: an earlier answer may have become a rule meanwhile.
Decider::Decision Decider::Finish(const Request& request, std::vector<Requirement> approved) {
  const absl::StatusOr<Assessment> assessment = Assess(request);
  if (!assessment.ok()) return assessment.status();
  const std::string_view by = approved.empty() ? "profile and rules" : "person";
  if (absl::Status status = log_.Admitted(request, by, *assessment); !status.ok()) return status;
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

// What is asked about one request, and the rules that each form of remembering would store.
struct Decider::Question {
  ApprovalCard card;
  std::vector<std::vector<Rule>> forms;
  Assessment assessment;
};

absl::StatusOr<std::optional<Decider::Question>> Decider::Prepare(const Request& request) {
  absl::StatusOr<Assessment> assessment = Assess(request);
  if (!assessment.ok()) return assessment.status();
  if (HasDenied(*assessment)) return DeniedError(*assessment);
  Question question;
  ApprovalCard& card = question.card;
  card.pending = Pending(*assessment);
  if (card.pending.empty()) return std::optional<Question>();
  card.request = request;
  card.digest = RequestDigest(request);
  const std::string& workspace = options_.profile.Settings().workspace_root;
  std::vector<RuleProgram> programs;
  if (request.command.has_value()) programs = options_.rules->ProgramsOf(*request.command);
  for (const RuleProgram& program : programs) {
    card.programs.push_back(EscapeForDisplay(program.path));
  }
  card.effects = DescribeEffects(request, workspace);
  for (std::string& line : RedirectionsThatFail(request, options_.profile)) {
    card.effects.push_back(std::move(line));
  }
  for (RememberedForm& form : FormsToRemember(card.pending, request, workspace, programs)) {
    std::vector<std::string> lines;
    for (const Rule& rule : form.rules) lines.push_back(RuleText(rule));
    if (question.forms.empty()) {
      card.would_store = std::move(lines);
    } else {
      card.wider.push_back({std::move(form.name), std::move(lines)});
    }
    question.forms.push_back(std::move(form.rules));
  }
  card.can_persist = !question.forms.empty() && options_.rules->has_file();
  card.expires = options_.clock() + options_.approval_timeout;
  card.waiting_behind = questions_.waiting_behind();
  question.assessment = *std::move(assessment);
  return question;
}

absl::StatusOr<std::vector<Requirement>> Decider::AskPerson(const Request& request,
                                                            std::stop_token stop) {
  const TurnQueue::Turn turn = questions_.Enter(stop);
  if (!turn || stop.stop_requested()) {
    return MakeError(ErrorCode::kCancelled, "cancelled before a person was asked");
  }
  // The answer to an earlier question may have settled this one.
  const absl::StatusOr<std::optional<Question>> question = Prepare(request);
  if (!question.ok()) return question.status();
  if (!question->has_value()) return std::vector<Requirement>();
  absl::StatusOr<ApprovalAnswer> answer =
      MakeError(ErrorCode::kNoApprover, "the approver failed while it was asked");
  try {
    answer = options_.approver->Ask((*question)->card, stop);
  } catch (const std::exception&) {
    // The error above stands: an approver that throws has not approved.
  }
  return Settle(**question, answer, stop);
}

// What was approved; the typed error for every other end of a question.
absl::StatusOr<std::vector<Requirement>> Decider::Settle(
    const Question& question, const absl::StatusOr<ApprovalAnswer>& answer,
    const std::stop_token& stop) {
  if (absl::Status status = Judge(question, answer, stop); !status.ok()) return status;
  const Request& request = question.card.request;
  const absl::StatusOr<Assessment> after = Assess(request);
  if (!after.ok()) return after.status();
  if (absl::Status status = CheckApproved(*after, question.card.pending); !status.ok()) {
    return status;
  }
  absl::Status logged = log_.Approved(request, answer->remember);
  if (!logged.ok()) return logged;
  if (absl::Status status = Remember(*answer, question); !status.ok()) return status;
  return question.card.pending;
}

absl::Status Decider::Judge(const Question& question, const absl::StatusOr<ApprovalAnswer>& answer,
                            const std::stop_token& stop) {
  const Assessment& assessment = question.assessment;
  if (!answer.ok()) {
    const ErrorCode code =
        ErrorOf(answer.status()).value_or(Error{ErrorCode::kNoApprover, {}, 0}).code;
    const absl::string_view message = answer.status().message();
    return PendingError(code, std::string(message.data(), message.size()), assessment);
  }
  if (stop.stop_requested()) {
    return PendingError(ErrorCode::kCancelled, "cancelled while a person was asked", assessment);
  }
  if (answer->digest != question.card.digest) {
    return PendingError(ErrorCode::kApprovalStale,
                        "the answer is for another question and has no effect", assessment);
  }
  if (options_.clock() > question.card.expires) {
    return PendingError(ErrorCode::kApprovalTimedOut, "the answer came too late and has no effect",
                        assessment);
  }
  if (!answer->approved) {
    std::string message = "a person refused";
    if (!answer->words.empty()) message += ", saying \"" + EscapeForDisplay(answer->words) + "\"";
    return PendingError(ErrorCode::kRefusedByPerson, message, assessment);
  }
  return absl::OkStatus();
}

std::vector<Decider::Decision> Decider::AdmitTogether(absl::Span<const Request> requests,
                                                      const std::stop_token& stop) {
  std::vector<std::optional<Decision>> decisions(requests.size());
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const absl::StatusOr<bool> pending = IsPending(requests[i]);
    if (!pending.ok()) {
      decisions[i] = log_.Refused(requests[i], pending.status());
    } else if (*pending) {
      waiting.push_back(i);
    } else {
      decisions[i] = DecideLogged(requests[i], stop);
    }
  }
  AskTogether(requests, waiting, stop, decisions);
  std::vector<Decision> all;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // What was not on a card is asked by itself, or was settled by the answers to the others.
    if (!decisions[i].has_value()) decisions[i] = DecideLogged(requests[i], stop);
    all.push_back(*std::move(decisions[i]));
  }
  return all;
}

// Whether a person has to be asked; the errors are those of a request that nobody is asked about.
absl::StatusOr<bool> Decider::IsPending(const Request& request) {
  if (absl::Status status = log_.Asked(request); !status.ok()) return status;
  const absl::StatusOr<Assessment> assessment = Assess(request);
  if (!assessment.ok()) return assessment.status();
  if (HasDenied(*assessment)) return DeniedError(*assessment);
  if (absl::Status status = CheckBinding(request, *assessment); !status.ok()) return status;
  return !Pending(*assessment).empty();
}

void Decider::AskTogether(absl::Span<const Request> requests,
                          const std::vector<std::size_t>& waiting, const std::stop_token& stop,
                          std::vector<std::optional<Decision>>& decisions) {
  if (waiting.size() < 2 || waiting.size() > kMaxCallsTogether) return;
  const TurnQueue::Turn turn = questions_.Enter(stop);
  if (!turn || stop.stop_requested()) return;
  std::vector<Question> questions;
  std::vector<ApprovalCard> cards;
  std::vector<std::size_t> asked;
  for (const std::size_t i : waiting) {
    absl::StatusOr<std::optional<Question>> question = Prepare(requests[i]);
    if (!question.ok() || !question->has_value()) continue;
    cards.push_back((*question)->card);
    questions.push_back(**std::move(question));
    asked.push_back(i);
  }
  if (cards.size() < 2) return;
  absl::StatusOr<std::vector<ApprovalAnswer>> answers =
      MakeError(ErrorCode::kNoApprover, "the approver failed while it was asked");
  try {
    answers = options_.approver->AskTogether(cards, stop);
  } catch (const std::exception&) {
    // The error above stands.
  }
  if (answers.ok() && answers->size() != cards.size()) {
    answers = MakeError(ErrorCode::kNoApprover, "the approver lost count of its answers");
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const absl::StatusOr<ApprovalAnswer> answer =
        answers.ok() ? absl::StatusOr<ApprovalAnswer>((*answers)[i]) : answers.status();
    const Request& request = requests[asked[i]];
    absl::StatusOr<std::vector<Requirement>> approved = Settle(questions[i], answer, stop);
    decisions[asked[i]] =
        approved.ok() ? Finish(request, *std::move(approved)) : Decision(approved.status());
    if (!decisions[asked[i]]->ok()) {
      decisions[asked[i]] = log_.Refused(request, decisions[asked[i]]->status());
    }
  }
}

absl::Status Decider::Remember(const ApprovalAnswer& answer, const Question& question) {
  switch (answer.remember) {
    case cordon::Remember::kOnce:
      return absl::OkStatus();
    case cordon::Remember::kSession:
    case cordon::Remember::kAlways:
      break;
  }
  if (answer.form >= question.forms.size()) {
    return MakeError(ErrorCode::kApprovalStale,
                     "the approval was to be remembered in a form that was not offered");
  }
  return options_.rules->Add(question.forms[answer.form],
                             answer.remember == cordon::Remember::kAlways);
}

}  // namespace cordon::internal
