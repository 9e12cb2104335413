#include "plan_compiler.h"

#include <utility>

#include "unconfined.h"

namespace cordon::internal {
namespace {

void PinTargets(absl::Span<const GrantedTarget> targets, std::vector<ViewOp>& ops) {
  for (ViewOp& op : ops) {
    if (op.kind != ViewOp::Kind::kBind) continue;
    for (const GrantedTarget& target : targets) {
      if (op.source != target.path) continue;
      op.device = target.object.identity.device;
      op.inode = target.object.identity.inode;
    }
  }
}

}  // namespace

absl::StatusOr<CompiledPlan> CompilePlan(const PlanInputs& inputs, const PathPolicy& paths,
                                         absl::Span<const GrantedTarget> targets) {
  CompiledPlan compiled;
  if (inputs.profile.Settings().isolation == Isolation::kUnconfined) {
    compiled.plan = UnconfinedPlan(inputs.limits);
    return compiled;
  }
  absl::StatusOr<CompiledView> view =
      CompileView(inputs.profile, paths, inputs.folders, inputs.landlock_abi);
  if (!view.ok()) return view.status();
  PinTargets(targets, view->ops);
  compiled.plan.host_network = inputs.profile.Settings().network == Access::kAllow;
  compiled.plan.view = std::move(view->ops);
  compiled.plan.landlock_handled_fs = view->landlock_handled_fs;
  compiled.plan.landlock_scoped = view->landlock_scoped;
  compiled.plan.landlock_rules = std::move(view->landlock_rules);
  compiled.plan.seccomp_program = inputs.seccomp_program;
  compiled.plan.limits = inputs.limits;
  compiled.absent = std::move(view->absent);
  compiled.entries = std::move(view->entries);
  return compiled;
}

}  // namespace cordon::internal
