// From a canonical profile to the rules about its paths.

#ifndef CORDON_SDK_SRC_PROFILE_PATHS_H_
#define CORDON_SDK_SRC_PROFILE_PATHS_H_

#include <string>
#include <vector>

#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"

namespace cordon::internal {

// What the fields and roots say, at most one rule for a path: the host, the system's paths, the
// home, the workspace, the additional roots. Where two are the same path, the later one counts.
[[nodiscard]] std::vector<PathRule> LiteralRules(const ProfileConfig& canonical);

// Roots below which something may be written, in the canonical order.
[[nodiscard]] std::vector<std::string> WritableRoots(const ProfileConfig& canonical);

// The protected patterns of every writable root.
[[nodiscard]] std::vector<GlobRule> ProtectRules(const ProfileConfig& canonical);

// `deny_read` and `deny_write`, which hold only globs in a canonical profile.
[[nodiscard]] std::vector<GlobRule> DenyRules(const ProfileConfig& canonical);

// All of these together.
[[nodiscard]] PathPolicy BuildPathPolicy(const ProfileConfig& canonical);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_PROFILE_PATHS_H_
