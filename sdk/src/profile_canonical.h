// Checking a profile's description and giving it its one canonical form.

#ifndef CORDON_SDK_SRC_PROFILE_CANONICAL_H_
#define CORDON_SDK_SRC_PROFILE_CANONICAL_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/profile.h"

namespace cordon::internal {

// See `Profile::Create`. Reads the file system to resolve symbolic links.
[[nodiscard]] absl::StatusOr<ProfileConfig> Canonicalize(ProfileConfig config);

// Returns kInvalidProfile unless `entry` is `NAME` or `NAME=VALUE`.
[[nodiscard]] absl::Status ValidateVariable(std::string_view entry);

// The name of such an entry.
[[nodiscard]] std::string_view VariableName(std::string_view entry);

// Sorted, in their one spelling, without targets that another one covers. The texts are valid.
[[nodiscard]] std::vector<std::string> ReduceTargets(const std::vector<std::string>& targets);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_PROFILE_CANONICAL_H_
