// Where each requirement of a request stands by profile and stored rules, before anybody is asked.

#ifndef CORDON_GATE_SRC_ASSESSMENT_H_
#define CORDON_GATE_SRC_ASSESSMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/access.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/request.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {

enum class Standing : std::uint8_t {
  kDeniedByProfile,
  kDeniedByRule,
  kPending,  // A person has to be asked.
  kAllowed,
};

struct AssessedRequirement {
  Requirement requirement;
  Standing standing = Standing::kDeniedByProfile;
  Access access = Access::kDeny;  // The profile's; kGated needs a grant.
  std::string source;             // The field or path rule of the profile that says so.
  RuleDecision rule;
};

using Assessment = std::vector<AssessedRequirement>;

// One entry per requirement, in order; none for `NoAuthority`. Each capability kind has exactly one
// source of access, the profile; a failing source is an error. So is a rule file that cannot be
// read.
[[nodiscard]] absl::StatusOr<Assessment> Assess(const Profile& profile, RuleSet& rules,
                                                const Request& request);

[[nodiscard]] bool HasDenied(const Assessment& assessment);
[[nodiscard]] std::vector<Requirement> Pending(const Assessment& assessment);

// For people and models, one line per requirement: what it is, what decides, what would change it.
[[nodiscard]] std::string DescribeStanding(const AssessedRequirement& assessed);

// kPolicyDenied or kDeniedByRule, naming every denied requirement.
[[nodiscard]] absl::Status DeniedError(const Assessment& assessment);

// `code` and `message`, naming every pending requirement.
[[nodiscard]] absl::Status PendingError(ErrorCode code, std::string_view message,
                                        const Assessment& assessment);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_ASSESSMENT_H_
