#ifndef CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_

#include "launcher/outcome.h"
#include "launcher/plan_reader.h"

namespace cordon::launcher {

// Restricts this process for good by the rules of the plan and of the command (landlock(7)). Does
// nothing when the plan handles nothing.
[[nodiscard]] Outcome EnterLandlock(const Plan& plan, const Command& command);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_
