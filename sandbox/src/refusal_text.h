// How a refusal is explained: the rule that made it, and the option that would allow it. Pure, but
// for looking whether a path exists.

#ifndef CORDON_SANDBOX_SRC_REFUSAL_TEXT_H_
#define CORDON_SANDBOX_SRC_REFUSAL_TEXT_H_

#include <string>

#include "cordon/sdk/path_policy.h"

namespace cordon::internal {

[[nodiscard]] std::string NetworkReason(const PathDecision& decision);

[[nodiscard]] std::string PathReason(const PathDecision& decision);

// An option of `cordon run`; for a path that does not exist, the one for its folder.
[[nodiscard]] std::string PathRemedy(Axis axis, const PathDecision& decision,
                                     const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_REFUSAL_TEXT_H_
