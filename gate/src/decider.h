// How a gate decides about a request that is known to be consistent: profile, rules, one question
// for the rest, grants. Safe from any thread; decisions keep it alive beyond their gate.

#ifndef CORDON_GATE_SRC_DECIDER_H_
#define CORDON_GATE_SRC_DECIDER_H_

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

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

  [[nodiscard]] absl::StatusOr<Assessment> Assess(const Request& request);
  // As `Admission::Admit`, but for `ValidateRequest`. Logs the request and a refusal.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request& request,
                                                                std::stop_token stop);

  [[nodiscard]] const GateOptions& options() const { return options_; }
  [[nodiscard]] const GateLog& log() const { return log_; }

 private:
  absl::StatusOr<std::unique_ptr<Admitted>> Decide(const Request& request, std::stop_token stop);
  absl::Status CheckBinding(const Request& request, const Assessment& assessment);
  // What a person approved; nothing when meanwhile nothing was left to ask.
  absl::StatusOr<std::vector<Requirement>> AskPerson(const Request& request, std::stop_token stop);
  absl::StatusOr<ApprovalAnswer> Question(const ApprovalCard& card, const Assessment& assessment,
                                          std::stop_token stop);
  absl::Status Remember(cordon::Remember how, std::vector<Rule> rules);

  const GateOptions options_;
  const GateLog log_;
  TurnQueue questions_;
  std::mutex authorities_mutex_;
  std::map<std::string, std::shared_ptr<GrantAuthority>> authorities_;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_DECIDER_H_
