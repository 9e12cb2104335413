// What is claimed for a confined command: the same in both tiers, by different means. A profile
// that a tier cannot hold to this is refused there.

#ifndef CORDON_SANDBOX_SRC_CLAIMED_GUARANTEES_H_
#define CORDON_SANDBOX_SRC_CLAIMED_GUARANTEES_H_

#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "resource_limits.h"

namespace cordon::internal {

[[nodiscard]] inline Guarantees ClaimedGuarantees(const Profile& profile,
                                                  const CompiledLimits& limits) {
  // Nothing at all is reachable, or what the proxy lets through, and so nothing that was not
  // granted.
  const bool closed = profile.Settings().network != Access::kAllow;
  Guarantees claimed;
  claimed.process_boundary = true;
  claimed.write_boundary = true;
  claimed.read_boundary = true;
  claimed.env_scrub = true;
  claimed.network_boundary = closed;
  claimed.address_network = closed;
  claimed.target_network = closed;
  claimed.resource_limits = limits.whole_tree;
  return claimed;
}

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_CLAIMED_GUARANTEES_H_
