#include "cordon/sandbox/probe.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cgroup_choice.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "landlock_abi.h"
#include "landlock_report.h"
#include "launcher.h"
#include "plan.h"
#include "probe_layers.h"
#include "seccomp_filter.h"
#include "simulated_failures.h"

namespace cordon {
namespace internal {
namespace {

ViewOp Op(ViewOp::Kind kind, std::string target, std::string source = {}) {
  ViewOp op;
  op.kind = kind;
  op.target = std::move(target);
  op.source = std::move(source);
  return op;
}

// One of each kind of step, the host's whole tree among them.
std::vector<ViewOp> ProbeView() {
  using Kind = ViewOp::Kind;
  std::vector<ViewOp> view = {Op(Kind::kProc, "/proc"),
                              Op(Kind::kDev, "/dev"),
                              Op(Kind::kBind, "/host", "/"),
                              Op(Kind::kTmpfs, "/probe"),
                              Op(Kind::kDir, "/probe/a"),
                              Op(Kind::kDir, "/probe/a/b"),
                              Op(Kind::kFile, "/probe/file"),
                              Op(Kind::kSymlink, "/link"),
                              Op(Kind::kProtect, "/probe/a/b"),
                              Op(Kind::kMask, "/probe/file"),
                              Op(Kind::kPin, "/probe/a", "/probe")};
  for (ViewOp& op : view) {
    op.read_only = op.kind == Kind::kBind;
    if (op.kind == Kind::kSymlink) op.data = "probe";
  }
  return view;
}

// The launcher itself, which does nothing when it is called with an argument.
CommandPlan ProbeCommand() {
  CommandPlan command;
  command.argv = {"/proc/self/exe", "probe"};
  command.working_directory = "/";
  return command;
}

struct Failure {
  Step step = Step::kNone;
  int error_number = 0;
};

std::optional<Failure> FailureIn(const SpawnEvent& event) {
  if (event.kind == SpawnEvent::Kind::kFailed) return Failure{event.step, event.error_number};
  const bool went_well = WIFEXITED(event.wait_status) && WEXITSTATUS(event.wait_status) == 0;
  if (event.kind == SpawnEvent::Kind::kEnded && !went_well) return Failure{Step::kExec, ENOEXEC};
  return std::nullopt;
}

// Builds `plan` once and runs a program in it; where that fails, or nothing.
std::optional<Failure> Build(Launcher& launcher, const SandboxPlan& plan) {
  const absl::StatusOr<std::uint32_t> id = launcher.AddPlan(plan);
  if (!id.ok()) return Failure{Step::kPlan, EINVAL};
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  absl::StatusOr<SpawnedSandbox> spawned =
      launcher.Spawn(*id, ProbeCommand(), null.get(), null.get(), null.get());
  launcher.RemovePlan(*id);
  if (!spawned.ok()) {
    const std::optional<Error> error = ErrorOf(spawned.status());
    return Failure{Step::kNamespaces, error.has_value() ? error->error_number : EIO};
  }
  SpawnEvent event;
  while (recv(spawned->channel.get(), &event, sizeof(event), 0) == sizeof(event)) {
    if (const auto failure = FailureIn(event)) return failure;
    if (event.kind == SpawnEvent::Kind::kEnded) return std::nullopt;
  }
  return Failure{Step::kInit, EPIPE};
}

struct Parts {
  bool namespaces = false;
  bool landlock = false;
  bool seccomp = false;
};

SandboxPlan ProbePlan(const Parts& parts, int landlock_abi, const std::string& seccomp_program) {
  SandboxPlan plan;
  plan.namespaces = parts.namespaces;
  if (parts.namespaces) plan.view = ProbeView();
  if (parts.landlock) {
    plan.landlock_handled_fs = LandlockRightsOf(landlock_abi);
    plan.landlock_scoped = LandlockScopesOf(landlock_abi);
    plan.landlock_rules = {{"/", plan.landlock_handled_fs, false}};
  }
  if (parts.seccomp) plan.seccomp_program = seccomp_program;
  return plan;
}

constexpr const Layer* kNamespaceTierLayers[] = {&kNamespaceLayer, &kNetworkLayer, &kViewLayer,
                                                 &kProcLayer, &kSupervisionLayer};

// The layers of `list` up to the one that failed; what comes after it was not reached.
void AddChain(std::span<const Layer* const> list, const std::optional<Failure>& failure,
              HostProbe* result) {
  for (const Layer* layer : list) {
    if (failure.has_value() && &LayerOf(failure->step) == layer) {
      result->layers.push_back(Bad(*layer, std::string(StepName(failure->step)),
                                   failure->error_number,
                                   FixFor(failure->step, failure->error_number)));
      return;
    }
    result->layers.push_back(Good(*layer));
  }
}

// Whether building `parts` gets to `step`.
bool Includes(const Parts& parts, Step step) {
  const Layer* const layer = &LayerOf(step);
  if (layer == &kLandlockLayer) return parts.landlock;
  if (layer == &kSeccompLayer) return parts.seccomp;
  return layer == &kSupervisionLayer || parts.namespaces;
}

class HostProber {
 public:
  HostProber(Launcher& launcher, std::string seccomp_program, SimulatedFailures simulated)
      : launcher_(launcher),
        seccomp_program_(std::move(seccomp_program)),
        simulated_(std::move(simulated)) {
    result_.landlock_abi = simulated_.contains(Step::kLandlock) ? 0 : QueryLandlockAbi();
    result_.landlock_gaps = LandlockGaps(result_.landlock_abi);
    result_.layers.push_back(Good(kLauncherLayer));
  }

  HostProbe Probe() && {
    const bool has_landlock = result_.landlock_abi > 0;
    const bool has_seccomp = !seccomp_program_.empty();
    // Everything at once, as a real spawn has it: when that works there is nothing more to ask.
    const bool all = has_seccomp && !Fails({true, has_landlock, true}).has_value();
    const auto namespaces = all ? std::nullopt : Fails({true, false, false});
    AddChain(kNamespaceTierLayers, namespaces, &result_);
    if (!all && LacksGround()) return std::move(result_);
    const Layer* const landlock_layer[] = {&kLandlockLayer};
    const auto landlock = all && has_landlock ? std::nullopt : ProbeLandlock();
    AddChain(landlock_layer, landlock, &result_);
    const Layer* const seccomp_layer[] = {&kSeccompLayer};
    const auto seccomp = all ? std::nullopt : ProbeSeccomp();
    AddChain(seccomp_layer, seccomp, &result_);
    // What went well among namespaces needs no second attempt without them.
    result_.landlock_tier = result_.landlock_abi >= kLandlockAbiOfTier && !landlock.has_value() &&
                            !seccomp.has_value() &&
                            (all || !Fails({false, true, true}).has_value());
    if (all) {
      result_.tier = Tier::kNamespaces;
    } else if (result_.landlock_tier) {
      result_.tier = Tier::kLandlock;
    }
    return std::move(result_);
  }

 private:
  // Whether not even a process without any confinement could be supervised.
  bool LacksGround() {
    const auto failure = Fails({false, false, false});
    if (!failure.has_value()) return false;
    const Layer& layer = LayerOf(failure->step);
    std::erase_if(result_.layers, [&layer](const LayerProbe& l) { return l.layer == layer.name; });
    const Layer* const one[] = {&layer};
    AddChain(one, failure, &result_);
    return true;
  }

  std::optional<Failure> Fails(const Parts& parts) {
    for (const auto& [step, error_number] : simulated_) {
      if (Includes(parts, step)) return Failure{step, error_number};
    }
    return Build(launcher_, ProbePlan(parts, result_.landlock_abi, seccomp_program_));
  }

  // Whatever else went wrong on the way is charged to the layer in question.
  std::optional<Failure> ProbeLandlock() {
    if (const auto simulated = simulated_.find(Step::kLandlock); simulated != simulated_.end()) {
      return Failure{Step::kLandlock, simulated->second};
    }
    if (result_.landlock_abi == 0) return Failure{Step::kLandlock, LandlockError()};
    const auto failure = Fails({false, true, false});
    return failure.has_value() ? std::optional(Failure{Step::kLandlock, failure->error_number})
                               : std::nullopt;
  }
  std::optional<Failure> ProbeSeccomp() {
    if (seccomp_program_.empty()) return Failure{Step::kSeccomp, EOPNOTSUPP};
    const auto failure = Fails({false, false, true});
    return failure.has_value() ? std::optional(Failure{Step::kSeccomp, failure->error_number})
                               : std::nullopt;
  }

  Launcher& launcher_;
  const std::string seccomp_program_;
  const SimulatedFailures simulated_;
  HostProbe result_;
};

HostProbe ProbeNow(const std::string& fallback_directory) {
  const absl::StatusOr<std::shared_ptr<Launcher>> launcher = Launcher::Start(fallback_directory);
  if (!launcher.ok()) {
    const std::optional<Error> error = ErrorOf(launcher.status());
    HostProbe result;
    result.layers.push_back(Bad(kLauncherLayer, "start",
                                error.has_value() ? error->error_number : 0,
                                std::string(launcher.status().message())));
    return result;
  }
  absl::StatusOr<std::string> seccomp_program = BuildSeccompProgram(NativeArchitecture());
  const char* const simulated = std::getenv("CORDON_SIMULATE_FAILURE");
  HostProbe result = HostProber(**launcher, seccomp_program.ok() ? *std::move(seccomp_program) : "",
                                ParseSimulatedFailures(simulated == nullptr ? "" : simulated))
                         .Probe();
  (*launcher)->Stop();
  return result;
}

// Enough for a small command; any numbers would do.
Limits LimitsToTry() {
  Limits limits;
  limits.memory_bytes = std::uint64_t{64} << 20;
  limits.processes = 16;
  return limits;
}

}  // namespace
}  // namespace internal

std::string_view TierName(Tier tier) {
  switch (tier) {
    case Tier::kNone:
      return "none";
    case Tier::kLandlock:
      return "landlock";
    case Tier::kNamespaces:
      return "namespaces";
  }
  return "none";
}

LayerProbe ProbeLimits(const std::string& fallback_directory) {
  const auto cgroups = internal::MakeCommandCgroups(internal::NamedCgroup({}),
                                                    internal::LimitsToTry(), fallback_directory);
  if (cgroups.ok()) return internal::Good(internal::kCgroupLayer);
  const std::optional<Error> error = ErrorOf(cgroups.status());
  return internal::Bad(internal::kCgroupLayer, "delegated cgroup",
                       error.has_value() ? error->error_number : 0,
                       internal::CgroupFix(std::string(cgroups.status().message())));
}

const HostProbe& ProbeHost(const std::string& fallback_directory) {
  static const HostProbe result = internal::ProbeNow(fallback_directory);
  return result;
}

}  // namespace cordon
