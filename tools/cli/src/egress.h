// The way out of a session's sandboxes: the egress proxy, and who decides about what it does not
// know. Wires cordon/net-proxy to cordon/gate.

#ifndef CORDON_TOOLS_CLI_SRC_EGRESS_H_
#define CORDON_TOOLS_CLI_SRC_EGRESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/gate/egress.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/profile.h"

namespace cordon::cli {

class SessionEgress {
 public:
  // `resolve` are the texts of --resolve. Without `decides` nobody is asked and no rule is looked
  // at: what is not granted is refused. `log` may be null. The environment is read for a route only
  // when `route` says so.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SessionEgress>> Create(
      const std::vector<std::string>& resolve, NetworkRoute route, std::shared_ptr<LogSink> log,
      bool decides);

  virtual ~SessionEgress() = default;

  // For `ExecutorSetOptions::egress`.
  [[nodiscard]] virtual std::shared_ptr<EgressProxy> proxy() = 0;

  // The gate that decides, once there is one; until then everything is refused. What `gate` admits
  // through the result may have connections decided for as long as its command runs. Both are
  // borrowed by nothing that outlives the result.
  [[nodiscard]] virtual std::unique_ptr<Admission> DecideWith(
      Admission& gate, std::shared_ptr<EgressGate> egress) = 0;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_EGRESS_H_
