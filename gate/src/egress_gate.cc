#include "egress_gate.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

using Answer = std::function<void(EgressDecision)>;

EgressDecision Denied(std::string why) { return {EgressVerdict::kDeny, std::move(why)}; }

// One host and one port in its only spelling.
bool IsConcrete(const NetworkTarget& target) {
  if (IsPattern(target)) return false;
  const absl::StatusOr<NetworkTarget> parsed = ParseNetworkTarget(NetworkTargetText(target));
  return parsed.ok() && *parsed == target;
}

// The question that a connection of the command of `request` asks.
Request QuestionAbout(const NetworkTarget& target, Request request) {
  request.authority = std::vector<Requirement>{RequireNetwork(target)};
  request.details = {{"asked", "by the command, which is running and waits for the answer"}};
  return request;
}

std::string DecidedBy(const AssessedRequirement& assessed) {
  return assessed.rule.rule.empty() ? assessed.source : "the rule " + assessed.rule.rule;
}

// The first line of a refusal: the rest lists the one requirement, which the reader knows.
std::string FirstLine(const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  const std::size_t end = message.find(":\n");
  return std::string(message.substr(0, end));
}

// What is known of one target of one execution.
struct TargetState {
  std::optional<EgressDecision> answered;  // By a person, or by nobody in time.
  std::vector<std::string> used_rules;     // Their ids: a use of each was counted for this.
  std::vector<Answer> waiting;             // Not empty while a question is open.
  std::set<EgressVerdict> logged;
};

struct Execution {
  Request request;
  std::map<NetworkTarget, TargetState> targets;
  std::size_t questions = 0;
};

struct Question {
  std::string execution_id;
  NetworkTarget target;
};

// What the gate and its thread share.
class Desk {
 public:
  Desk(std::shared_ptr<Decider> decider, EgressGateOptions options)
      : decider_(std::move(decider)), options_(options) {}

  absl::Status Enter(const Request& request);
  void Leave(const std::string& execution_id);
  absl::StatusOr<EgressDecision> Decide(const std::string& execution_id,
                                        const NetworkTarget& target);
  absl::StatusOr<std::string> DenialOf(const std::string& execution_id,
                                       const NetworkTarget& target);
  void Ask(const std::string& execution_id, const NetworkTarget& target, Answer answer);

  // Answers questions until `stop`.
  void Serve(const std::stop_token& stop);
  // Denies everything that waits, now and later.
  void Close();

 private:
  // Null when there is no such execution. With `mutex_` held.
  Execution* Find(const std::string& execution_id) {
    const auto it = executions_.find(execution_id);
    return it == executions_.end() ? nullptr : &it->second;
  }
  // Why no question may be asked; nothing when it was queued or joined. With `mutex_` held.
  std::optional<EgressDecision> Queue(const std::string& execution_id, const NetworkTarget& target,
                                      Answer& answer);
  // What rules, profile and earlier answers say, kAsk when they do not.
  EgressDecision Settle(const AssessedRequirement& need, const std::string& execution_id,
                        const NetworkTarget& target);
  // Whether the rules are still there and allow nothing more only since they were used.
  [[nodiscard]] bool AreOnlyUsedUp(const std::vector<std::string>& ids) const;
  absl::Status LogOnce(const Request& question, const NetworkTarget& target,
                       const EgressDecision& decision);
  void AskPerson(const Question& question);
  absl::StatusOr<EgressDecision> AdmitAndSpend(const Request& request, std::stop_token stop);

  const std::shared_ptr<Decider> decider_;
  const EgressGateOptions options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Execution> executions_;
  std::deque<Question> queue_;  // The front is being asked when `asking_` is set.
  bool asking_ = false;
  std::stop_source current_stop_;  // Of the front.
  bool closed_ = false;
};

absl::Status Desk::Enter(const Request& request) {
  if (request.execution_id.empty()) {
    return MakeError(ErrorCode::kInvalidRequest, "an execution without an id cannot be entered");
  }
  const std::lock_guard lock(mutex_);
  if (!executions_.try_emplace(request.execution_id, Execution{request, {}, 0}).second) {
    return MakeError(ErrorCode::kInvalidRequest, "the execution was entered before");
  }
  return absl::OkStatus();
}

void Desk::Leave(const std::string& execution_id) {
  std::vector<Answer> withdrawn;
  {
    const std::lock_guard lock(mutex_);
    Execution* execution = Find(execution_id);
    if (execution == nullptr) return;
    for (auto& [target, state] : execution->targets) {
      for (Answer& answer : state.waiting) withdrawn.push_back(std::move(answer));
    }
    executions_.erase(execution_id);
    const bool shown = asking_ && queue_.front().execution_id == execution_id;
    if (shown) current_stop_.request_stop();
    const auto first = queue_.begin() + (asking_ ? 1 : 0);
    queue_.erase(std::remove_if(first, queue_.end(),
                                [&](const Question& q) { return q.execution_id == execution_id; }),
                 queue_.end());
  }
  for (const Answer& answer : withdrawn) answer(Denied("the command has ended"));
}

absl::StatusOr<EgressDecision> Desk::Decide(const std::string& execution_id,
                                            const NetworkTarget& target) {
  if (!IsConcrete(target)) return Denied("the target is not one host and one port");
  Request question;
  {
    const std::lock_guard lock(mutex_);
    const Execution* execution = Find(execution_id);
    if (execution == nullptr) return Denied("the gate knows no such execution");
    question = QuestionAbout(target, execution->request);
  }
  const absl::StatusOr<Assessment> assessment = decider_->Assess(question);
  if (!assessment.ok()) return assessment.status();
  EgressDecision decision = Settle(assessment->front(), execution_id, target);
  if (decision.verdict == EgressVerdict::kAsk) return decision;
  if (absl::Status status = LogOnce(question, target, decision); !status.ok()) return status;
  return decision;
}

absl::StatusOr<std::string> Desk::DenialOf(const std::string& execution_id,
                                           const NetworkTarget& target) {
  if (!IsConcrete(target)) return "the target is not one host and one port";
  Request request;  // Of an execution that is not known, every denial holds.
  {
    const std::lock_guard lock(mutex_);
    if (const Execution* execution = Find(execution_id)) request = execution->request;
  }
  const absl::StatusOr<Assessment> assessment =
      decider_->Assess(QuestionAbout(target, std::move(request)));
  if (!assessment.ok()) return assessment.status();
  const AssessedRequirement& need = assessment->front();
  return need.standing == Standing::kDeniedByRule ? DecidedBy(need) : std::string();
}

EgressDecision Desk::Settle(const AssessedRequirement& need, const std::string& execution_id,
                            const NetworkTarget& target) {
  switch (need.standing) {
    case Standing::kDeniedByProfile:
    case Standing::kDeniedByRule:
      return Denied(DecidedBy(need));
    case Standing::kAllowed:
    case Standing::kPending:
      break;
  }
  const std::lock_guard lock(mutex_);
  Execution* execution = Find(execution_id);
  if (execution == nullptr) return Denied("the command has ended");
  const auto state = execution->targets.find(target);
  const bool known = state != execution->targets.end();
  if (known && state->second.answered.has_value()) return *state->second.answered;
  const bool paid = known && !state->second.used_rules.empty();
  if (need.standing == Standing::kPending) {
    if (!paid || !AreOnlyUsedUp(state->second.used_rules)) return {EgressVerdict::kAsk, ""};
    return {EgressVerdict::kAllow, "a rule whose last use this was"};
  }
  if (need.rule.verdict == RuleDecision::Verdict::kAllow && !paid) {
    if (!decider_->options().rules->TakeUses(need.rule.ids)) return {EgressVerdict::kAsk, ""};
    execution->targets[target].used_rules = need.rule.ids;
  }
  return {EgressVerdict::kAllow, DecidedBy(need)};
}

absl::Status Desk::LogOnce(const Request& question, const NetworkTarget& target,
                           const EgressDecision& decision) {
  {
    const std::lock_guard lock(mutex_);
    Execution* execution = Find(question.execution_id);
    if (execution != nullptr && !execution->targets[target].logged.insert(decision.verdict).second)
      return absl::OkStatus();
  }
  return decider_->log().Egress(question, decision.verdict == EgressVerdict::kAllow, decision.rule);
}

bool Desk::AreOnlyUsedUp(const std::vector<std::string>& ids) const {
  const absl::StatusOr<std::vector<Rule>> rules = decider_->options().rules->List();
  if (!rules.ok()) return false;
  return std::all_of(ids.begin(), ids.end(), [&rules](const std::string& id) {
    return std::any_of(rules->begin(), rules->end(),
                       [&id](const Rule& rule) { return rule.id == id && rule.uses == 0; });
  });
}

void Desk::Ask(const std::string& execution_id, const NetworkTarget& target, Answer answer) {
  std::optional<EgressDecision> at_once;
  if (!IsConcrete(target)) {
    at_once = Denied("the target is not one host and one port");
  } else {
    const std::lock_guard lock(mutex_);
    at_once = Queue(execution_id, target, answer);
  }
  if (at_once.has_value()) return answer(*std::move(at_once));
  changed_.notify_all();
}

std::optional<EgressDecision> Desk::Queue(const std::string& execution_id,
                                          const NetworkTarget& target, Answer& answer) {
  Execution* execution = Find(execution_id);
  if (closed_ || execution == nullptr) return Denied("the gate knows no such execution");
  TargetState& state = execution->targets[target];
  if (state.answered.has_value()) return state.answered;
  if (!state.waiting.empty()) {
    state.waiting.push_back(std::move(answer));
    return std::nullopt;
  }
  if (execution->questions >= options_.max_questions_per_execution) {
    return Denied("this command has had a person asked about too many targets");
  }
  if (queue_.size() >= options_.max_waiting) return Denied("too many questions wait for a person");
  ++execution->questions;
  state.waiting.push_back(std::move(answer));
  queue_.push_back({execution_id, target});
  return std::nullopt;
}

void Desk::Serve(const std::stop_token& stop) {
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return closed_ || !queue_.empty(); })) return;
      if (closed_) return;
      question = queue_.front();
      asking_ = true;
      current_stop_ = std::stop_source();
    }
    AskPerson(question);
  }
}

void Desk::AskPerson(const Question& question) {
  Request request;
  std::stop_token stop;
  {
    const std::lock_guard lock(mutex_);
    stop = current_stop_.get_token();
    if (const Execution* execution = Find(question.execution_id)) {
      request = QuestionAbout(question.target, execution->request);
    } else {
      current_stop_.request_stop();
    }
  }
  EgressDecision decision = Denied("the command has ended");
  if (!stop.stop_requested()) {
    absl::StatusOr<EgressDecision> answered = AdmitAndSpend(request, stop);
    decision = answered.ok() ? *std::move(answered) : Denied(FirstLine(answered.status()));
    const absl::Status logged = LogOnce(request, question.target, decision);
    if (!logged.ok()) decision = Denied(FirstLine(logged));
  }
  std::vector<Answer> waiting;
  {
    const std::lock_guard lock(mutex_);
    asking_ = false;
    if (!queue_.empty()) queue_.pop_front();
    if (Execution* execution = Find(question.execution_id)) {
      TargetState& state = execution->targets[question.target];
      state.answered = decision;
      waiting = std::exchange(state.waiting, {});
    }
  }
  for (const Answer& answer : waiting) answer(decision);
}

// Asks, and spends what is granted: a connection is a use like a start.
absl::StatusOr<EgressDecision> Desk::AdmitAndSpend(const Request& request, std::stop_token stop) {
  absl::StatusOr<std::unique_ptr<Admitted>> admitted = decider_->Admit(request, std::move(stop));
  if (!admitted.ok()) return admitted.status();
  const absl::StatusOr<std::vector<Grant>> grants = (*admitted)->Mint();
  if (!grants.ok()) return grants.status();
  if (!grants->empty()) {
    const auto authority = decider_->AuthorityOf(request.binding->executor_id);
    if (authority == nullptr) return MakeError(ErrorCode::kClosed, "the executor is gone");
    const auto redemption = authority->Verify(*grants, *request.binding);
    if (!redemption.ok()) return redemption.status();
    if (absl::Status status = (*redemption)->Consume(); !status.ok()) return status;
    for (const GrantSubject& subject : (*redemption)->subjects()) {
      if (absl::Status status = decider_->log().Consumed(request, subject); !status.ok()) {
        return status;
      }
    }
  }
  return EgressDecision{EgressVerdict::kAllow, "approved"};
}

void Desk::Close() {
  std::vector<Answer> withdrawn;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    current_stop_.request_stop();
    for (auto& [id, execution] : executions_) {
      for (auto& [target, state] : execution.targets) {
        for (Answer& answer : state.waiting) withdrawn.push_back(std::move(answer));
      }
    }
    executions_.clear();
  }
  changed_.notify_all();
  for (const Answer& answer : withdrawn) answer(Denied("the gate was closed"));
}

class EgressGateImpl final : public EgressGate {
 public:
  EgressGateImpl(std::shared_ptr<Decider> decider, EgressGateOptions options)
      : desk_(std::make_shared<Desk>(std::move(decider), options)),
        thread_([desk = desk_](const std::stop_token& stop) { desk->Serve(stop); }) {}

  ~EgressGateImpl() override {
    thread_.request_stop();
    desk_->Close();
    // An answer may hold the last reference: then this is the thread that would be waited for.
    if (thread_.get_id() == std::this_thread::get_id()) thread_.detach();
  }

  absl::Status Enter(const Request& request) override { return desk_->Enter(request); }
  void Leave(const std::string& execution_id) override { desk_->Leave(execution_id); }
  absl::StatusOr<EgressDecision> Decide(const std::string& execution_id,
                                        const NetworkTarget& target) override {
    return desk_->Decide(execution_id, target);
  }
  absl::StatusOr<std::string> DenialOf(const std::string& execution_id,
                                       const NetworkTarget& target) override {
    return desk_->DenialOf(execution_id, target);
  }
  void Ask(const std::string& execution_id, const NetworkTarget& target, Answer answer) override {
    desk_->Ask(execution_id, target, std::move(answer));
  }

 private:
  const std::shared_ptr<Desk> desk_;
  std::jthread thread_;
};

}  // namespace

std::shared_ptr<EgressGate> NewEgressGate(std::shared_ptr<Decider> decider,
                                          EgressGateOptions options) {
  return std::make_shared<EgressGateImpl>(std::move(decider), options);
}

}  // namespace cordon::internal
