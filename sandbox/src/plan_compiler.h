// Turns the paths that a command may use into the launcher's plan, under one profile.

#ifndef CORDON_SANDBOX_SRC_PLAN_COMPILER_H_
#define CORDON_SANDBOX_SRC_PLAN_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "admission.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "plan.h"
#include "view.h"

namespace cordon::internal {

struct CompiledPlan {
  SandboxPlan plan;
  std::vector<AbsentName> absent;
  std::vector<ReportEntry> entries;  // About files.
};

// What the plans of one executor have in common.
struct PlanInputs {
  Profile profile;
  ScratchFolders folders;
  std::vector<ResourceLimit> limits;
  std::string seccomp_program;
  int landlock_abi = 0;
};

// `targets` are the objects that `paths` was granted; a plan that would mount another object in
// their place fails.
[[nodiscard]] absl::StatusOr<CompiledPlan> CompilePlan(const PlanInputs& inputs,
                                                       const PathPolicy& paths,
                                                       absl::Span<const GrantedTarget> targets);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAN_COMPILER_H_
