#include "plan_compiler.h"

#include <utility>

#include "landlock_abi.h"
#include "unconfined.h"
#include "writable_places.h"

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

void PinTargets(absl::Span<const GrantedTarget> targets, std::vector<LandlockRule>& rules) {
  for (LandlockRule& rule : rules) {
    for (const GrantedTarget& target : targets) {
      if (rule.path != target.path) continue;
      rule.device = target.object.identity.device;
      rule.inode = target.object.identity.inode;
    }
  }
}

std::shared_ptr<ViewCompiler> MakeViewCompiler(const PlanInputs& inputs) {
  if (inputs.profile.Settings().isolation == Isolation::kUnconfined) return nullptr;
  return std::make_shared<ViewCompiler>(inputs.profile, inputs.folders, inputs.landlock_abi,
                                        inputs.tier, inputs.mediates);
}

}  // namespace

std::vector<ReportEntry> ReadyPlan::entries() const {
  return view == nullptr ? std::vector<ReportEntry>() : view->entries;
}

std::vector<std::string> ReadyPlan::ChangedProtected() const {
  if (view == nullptr) return {};
  return compiler->ChangedProtected(*view);
}

PlanCompiler::PlanCompiler(PlanInputs inputs, std::shared_ptr<Launcher> launcher)
    : inputs_(std::move(inputs)), launcher_(std::move(launcher)) {
  own_.compiler = MakeViewCompiler(inputs_);
  if (own_.compiler != nullptr) own_.compiler->KeepIndex();
  own_.cgroups = inputs_.cgroups;
}

absl::StatusOr<ReadyPlan> PlanCompiler::Compile() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const CompiledView> view;
  if (own_.compiler != nullptr) {
    absl::StatusOr<std::shared_ptr<const CompiledView>> compiled = own_.compiler->Compile();
    if (!compiled.ok()) return compiled.status();
    view = *std::move(compiled);
  }
  if (own_.registered != nullptr && own_.view == view) {
    if (own_.ready != nullptr) own_.ready->NoteChecked(own_.compiler->checked());
    return own_;
  }
  SandboxPlan plan = view == nullptr ? UnconfinedPlan(inputs_.limits) : PlanFor(*view);
  own_.registered = RegisteredPlan::ForLater(launcher_, plan);
  own_.view = std::move(view);
  ReplaceReadyLocked(std::move(plan));
  return own_;
}

void PlanCompiler::HoldForNext() {
  const std::lock_guard lock(mutex_);
  if (own_.compiler != nullptr) own_.compiler->HoldForNext();
}

void PlanCompiler::ReplaceReadyLocked(SandboxPlan plan) {
  // What commands still hold of it makes no more.
  if (own_.ready != nullptr) own_.ready->Close();
  own_.ready.reset();
  if (!plan.confined || closed_) return;
  own_.ready = std::make_shared<ReadySandboxes>(launcher_, std::move(plan), inputs_.ready_sandboxes,
                                                inputs_.cgroups);
}

std::shared_ptr<ReadySandboxes> PlanCompiler::OwnReady() {
  const std::lock_guard lock(mutex_);
  return own_.ready;
}

absl::Status PlanCompiler::BeginProof(const std::shared_ptr<NetworkNamespaces>& network) {
  const std::shared_ptr<ReadySandboxes> ready = OwnReady();
  return ready == nullptr ? absl::OkStatus() : ready->Begin(network);
}

absl::Status PlanCompiler::Prove(const std::shared_ptr<NetworkNamespaces>& network) {
  const std::shared_ptr<ReadySandboxes> ready = OwnReady();
  return ready == nullptr ? absl::OkStatus() : ready->Prove(network);
}

void PlanCompiler::CloseReady() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (own_.ready != nullptr) own_.ready->Close();
}

absl::StatusOr<ReadyPlan> PlanCompiler::CompileGranted(
    const PathPolicy& paths, absl::Span<const GrantedTarget> targets) const {
  // An own compiler: the remembered one must not forget what is below the profile's roots.
  ReadyPlan ready;
  ready.compiler = MakeViewCompiler(inputs_);
  ready.cgroups = inputs_.cgroups;
  absl::StatusOr<std::shared_ptr<const CompiledView>> view = ready.compiler->Compile(paths);
  if (!view.ok()) return view.status();
  ready.view = *std::move(view);
  SandboxPlan plan = PlanFor(*ready.view);
  PinTargets(targets, plan.view);
  if (inputs_.tier == Tier::kLandlock) PinTargets(targets, plan.landlock_rules);
  absl::StatusOr<std::shared_ptr<const RegisteredPlan>> registered =
      RegisteredPlan::Create(launcher_, plan);
  if (!registered.ok()) return registered.status();
  ready.registered = *std::move(registered);
  return ready;
}

SandboxPlan PlanCompiler::PlanFor(const CompiledView& view) const {
  SandboxPlan plan;
  plan.namespaces = inputs_.tier == Tier::kNamespaces;
  plan.host_network = inputs_.profile.Settings().network == Access::kAllow;
  if (inputs_.tier == Tier::kLandlock && !plan.host_network) {
    plan.landlock_handled_net = LandlockNetworkRightsOf(inputs_.landlock_abi);
  }
  plan.view = view.ops;
  plan.landlock_handled_fs = view.landlock_handled_fs;
  plan.landlock_scoped = view.landlock_scoped;
  plan.landlock_rules = view.landlock_rules;
  plan.seccomp_program = inputs_.seccomp_program;
  const bool is_read_for = view.writable != nullptr && view.writable->HasClosed();
  plan.observer_program = is_read_for ? inputs_.reads_observer_program : inputs_.observer_program;
  plan.must_observe = inputs_.mediates;
  plan.observes_early = !inputs_.mediates && !inputs_.lists_paths;
  plan.observes_last = inputs_.lists_paths;
  plan.limits = inputs_.limits.limits;
  plan.process_limit = inputs_.limits.process_limit;
  plan.watched = inputs_.limits.watched;
  for (const AbsentName& name : view.absent) plan.absent.push_back(name.path);
  return plan;
}

}  // namespace cordon::internal
