// How a gate decides about a request that is known to be consistent: profile, rules, one question
// for the rest, grants. Safe from any thread; decisions keep it alive beyond their gate.

#ifndef CORDON_GATE_SRC_DECIDER_H_
#define CORDON_GATE_SRC_DECIDER_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "assessment.h"
#include "cordon/gate/gate.h"
#include "gate_log.h"
#include "turn_queue.h"

namespace cordon::internal {

class Decider : public std::enable_shared_from_this<Decider> {
 public:
  // `options` complete: rules, approver and clock are set. Its authorities are not looked at.
  explicit Decider(GateOptions options);

  void AddAuthority(std::shared_ptr<GrantAuthority> authority);
  [[nodiscard]] std::shared_ptr<GrantAuthority> AuthorityOf(const std::string& executor_id);

  using Decision = absl::StatusOr<std::unique_ptr<Admitted>>;

  [[nodiscard]] absl::StatusOr<Assessment> Assess(const Request& request);
  // As `Admission::Admit` and `AdmitTogether`, but for `ValidateRequest`. Log requests and
  // refusals.
  [[nodiscard]] Decision Admit(const Request& request, std::stop_token stop);
  [[nodiscard]] std::vector<Decision> AdmitTogether(absl::Span<const Request> requests,
                                                    const std::stop_token& stop);

  [[nodiscard]] const GateOptions& options() const { return options_; }
  [[nodiscard]] const GateLog& log() const { return log_; }

 private:
  struct Question;

  Decision DecideLogged(const Request& request, const std::stop_token& stop);
  Decision Decide(const Request& request, const std::stop_token& stop);
  Decision Finish(const Request& request, std::vector<Requirement> approved);
  absl::StatusOr<bool> IsPending(const Request& request);
  absl::Status CheckBinding(const Request& request, const Assessment& assessment);
  // What a person approved; nothing when meanwhile nothing was left to ask.
  absl::StatusOr<std::vector<Requirement>> AskPerson(const Request& request, std::stop_token stop);
  // Fills in `decisions` of those of `waiting` that stood on one card.
  void AskTogether(absl::Span<const Request> requests, const std::vector<std::size_t>& waiting,
                   const std::stop_token& stop, std::vector<std::optional<Decision>>& decisions);
  // Nothing when nothing is left to ask.
  absl::StatusOr<std::optional<Question>> Prepare(const Request& request);
  absl::StatusOr<std::vector<Requirement>> Settle(const Question& question,
                                                  const absl::StatusOr<ApprovalAnswer>& answer,
                                                  const std::stop_token& stop);
  absl::Status Judge(const Question& question, const absl::StatusOr<ApprovalAnswer>& answer,
                     const std::stop_token& stop);
  absl::Status Remember(const ApprovalAnswer& answer, const Question& question);

  const GateOptions options_;
  const GateLog log_;
  TurnQueue questions_;
  std::mutex authorities_mutex_;
  std::map<std::string, std::shared_ptr<GrantAuthority>> authorities_;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_DECIDER_H_
