// The Gate: may this exact operation have what it needs, now? It asks the profile, then the stored
// rules, then, once for all that is left, a person; and mints grants for what the profile gates.

#ifndef CORDON_GATE_GATE_H_
#define CORDON_GATE_GATE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/gate/egress.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/access.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/profile.h"

namespace cordon {

struct GateOptions {
  // Mandatory: the one source of access for every capability kind. Requests that are bound to
  // another profile are refused.
  Profile profile;
  // Absent: no rules, kept in memory.
  std::shared_ptr<RuleSet> rules;
  // Absent: nobody can be asked.
  std::shared_ptr<Approver> approver;
  // Borrowed; must outlive the gate. Null: nothing is logged.
  LogSink* log = nullptr;
  // Refuses (kLogFailed) what cannot be logged, as the profile's `audit` may, too.
  bool log_required = false;
  // Those of the executors whose requests come here; see also `AddAuthority`.
  std::vector<std::shared_ptr<GrantAuthority>> authorities;
  // How long a grant lives, from dispatch; at most `GrantAuthority::kMaxTtl`.
  std::chrono::milliseconds grant_ttl = GrantAuthority::kDefaultTtl;
  // How long a person has, from the moment the question is shown.
  std::chrono::milliseconds approval_timeout = std::chrono::minutes(5);
  // Absent: the steady clock. For the expiry of questions.
  std::function<std::chrono::steady_clock::time_point()> clock;
};

// What would happen to a request, without asking anybody.
struct Forecast {
  Access access = Access::kDeny;  // The narrowest over all requirements, rules included.
  std::vector<std::string>
      reasons;  // One line per requirement: what decides, what would change it.
};

// Safe from any thread. Questions are asked one at a time, in the order in which requests came.
class Gate : public Admission {
 public:
  // Returns kInvalidOption for a missing profile, a log that is not as durable as it says, a ttl or
  // timeout that is not positive or a ttl beyond `GrantAuthority::kMaxTtl`.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Gate>> Create(GateOptions options);

  // Makes grants for the executor of `authority` possible; replaces one of the same executor.
  virtual void AddAuthority(std::shared_ptr<GrantAuthority> authority) = 0;

  // Errors of an invalid request as `Admit`.
  [[nodiscard]] virtual absl::StatusOr<Forecast> Explain(const Request& request) = 0;

  // Decides about the connections of running commands; may outlive the gate, but not its log.
  [[nodiscard]] virtual std::shared_ptr<EgressGate> MakeEgressGate(EgressGateOptions options) = 0;
};

}  // namespace cordon

#endif  // CORDON_GATE_GATE_H_
