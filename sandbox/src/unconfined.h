// `Isolation::kUnconfined`: the acknowledged choice to run commands with the caller's authority.
// They still go through the launcher, for a clean start and the end of their descendants.

#ifndef CORDON_SANDBOX_SRC_UNCONFINED_H_
#define CORDON_SANDBOX_SRC_UNCONFINED_H_

#include "cordon/sdk/enforcement_report.h"
#include "plan.h"
#include "resource_limits.h"

namespace cordon::internal {

[[nodiscard]] SandboxPlan UnconfinedPlan(const CompiledLimits& limits);

// Level none; nothing but `env_scrub` is claimed.
[[nodiscard]] CompileReport UnconfinedReport(const CompiledLimits& limits);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_UNCONFINED_H_
