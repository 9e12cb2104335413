// Plans and commands in the flat form that the launcher reads (plan_format.h). Pure functions.

#ifndef CORDON_SANDBOX_SRC_PLAN_WIRE_H_
#define CORDON_SANDBOX_SRC_PLAN_WIRE_H_

#include <string>

#include "absl/status/statusor.h"
#include "plan.h"

namespace cordon::internal {

// Both return kInvalidCommand for text with a NUL byte, for an empty `argv`, and beyond
// `wire::kMaxBlockBytes`: an argument may not silently become a shorter one.
[[nodiscard]] absl::StatusOr<std::string> EncodePlan(const SandboxPlan& plan);
[[nodiscard]] absl::StatusOr<std::string> EncodeCommand(const CommandPlan& command);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAN_WIRE_H_
