// The one implementation of `EgressGate`.

#ifndef CORDON_GATE_SRC_EGRESS_GATE_H_
#define CORDON_GATE_SRC_EGRESS_GATE_H_

#include <memory>

#include "cordon/gate/egress.h"
#include "decider.h"

namespace cordon::internal {

[[nodiscard]] std::shared_ptr<EgressGate> NewEgressGate(std::shared_ptr<Decider> decider,
                                                        EgressGateOptions options);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_EGRESS_GATE_H_
