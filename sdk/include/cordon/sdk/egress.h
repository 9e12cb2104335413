// The question that every way out of a sandbox asks. The egress proxy asks it, a Gate answers.

#ifndef CORDON_SDK_EGRESS_H_
#define CORDON_SDK_EGRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cordon/sdk/network_target.h"

namespace cordon {

enum class EgressVerdict : std::uint8_t { kDeny = 0, kAsk = 1, kAllow = 2 };

struct EgressDecision {
  EgressVerdict verdict = EgressVerdict::kDeny;
  std::string rule;  // Which rule decided, for the report.
};

// Implementations are safe from any thread and answer at once: they never wait for a person.
class EgressAuthorizer {
 public:
  virtual ~EgressAuthorizer() = default;
  // May `execution_id` open a TCP connection to `target` (a concrete host and port)?
  [[nodiscard]] virtual absl::StatusOr<EgressDecision> Decide(const std::string& execution_id,
                                                              const NetworkTarget& target) = 0;
};

}  // namespace cordon

#endif  // CORDON_SDK_EGRESS_H_
