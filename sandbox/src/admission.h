// May this command start, and what do the grants that came with it add? Checks everything and
// spends nothing; `Consume` of the redemption spends.

#ifndef CORDON_SANDBOX_SRC_ADMISSION_H_
#define CORDON_SANDBOX_SRC_ADMISSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"

namespace cordon::internal {

// A file system target of a grant, held open so that it stays the object that was verified.
struct GrantedTarget {
  std::string path;
  AcquiredPath object;
};

struct CommandAdmission {
  PathPolicy paths;                        // The profile's, with what was granted.
  std::unique_ptr<Redemption> redemption;  // Null when there are no grants.
  std::vector<GrantedTarget> targets;
  bool has_file_grants = false;                // Else `paths` are the profile's own.
  std::vector<NetworkTarget> network_targets;  // That were granted.
  std::vector<ConsumedGrant> grants;
};

// `authority` may be null. `binding` is looked at where there are grants. `is_served`: an egress
// proxy can open network targets. Errors, in the order of the checks:
//   kPolicyDenied          the profile denies commands, or what a grant is for;
//   kGrantRequired         it gates them, and there is no grant, or none to start a command;
//   what `GrantAuthority::Verify` says;
//   kGrantWrongTarget      a grant for something that needs none, or a second one to start;
//   kUnavailable           a grant for a network target, without a proxy;
//   kNotFound              a granted path that does not exist: there is nothing to show inside;
//   kTargetChanged         a granted path that is another object than the one approved.
[[nodiscard]] absl::StatusOr<CommandAdmission> AdmitCommand(const Profile& profile,
                                                            GrantAuthority* authority,
                                                            absl::Span<const Grant> grants,
                                                            const GrantBinding& binding,
                                                            bool is_served);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_ADMISSION_H_
