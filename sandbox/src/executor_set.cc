#include "cordon/sandbox/executor_set.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cgroup_choice.h"
#include "command_cgroups.h"
#include "command_network.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "delegated_cgroup.h"
#include "early_launcher.h"
#include "environment.h"
#include "executor.h"
#include "landlock_abi.h"
#include "landlock_report.h"
#include "namespaces_report.h"
#include "observed_calls.h"
#include "resource_limits.h"
#include "scratch.h"
#include "seccomp_filter.h"
#include "seccomp_program.h"
#include "unconfined.h"
#include "view_system.h"

namespace cordon {
namespace internal {
namespace {

// What all executors of a set share, fixed when the set is made.
struct SetParts {
  Profile profile;
  ExecutorSetOptions options;
  CompileReport report;
  CompiledLimits limits;
  std::string seccomp_program;
  std::string observer_program;
  std::string reads_observer_program;
  ObservedScope observed;
  int landlock_abi = 0;
  Tier tier = Tier::kNamespaces;
  bool is_led = false;  // In the landlock tier: connections are led to the proxy.
  Variables caller_variables;
  UserIdentity user;
  std::unique_ptr<ScratchFolder> scratch;
  std::shared_ptr<Launcher> launcher;
  std::shared_ptr<CommandCgroups> cgroups;  // Null where no limit is held by one.
};

bool Unconfined(const Profile& profile) {
  return profile.Settings().isolation == Isolation::kUnconfined;
}

class SandboxExecutorSet final : public ExecutorSet {
 public:
  explicit SandboxExecutorSet(SetParts parts) : parts_(std::move(parts)), report_(parts_.report) {}
  ~SandboxExecutorSet() override { (void)Close(); }

  // Makes an executor ahead, which the first `For` hands out: a profile that cannot be compiled
  // here fails now, and the report is complete.
  absl::Status MakeSpare() {
    absl::StatusOr<std::shared_ptr<SandboxExecutor>> executor = Make();
    if (!executor.ok()) return executor.status();
    report_ = (*executor)->Report();
    spare_ = *std::move(executor);
    return absl::OkStatus();
  }

  // Whether a sandbox of the spare executor can be made here.
  absl::Status Prove() { return spare_->Prove(); }
  absl::Status BeginProof() { return spare_->BeginProof(); }
  void HoldForFirst() { spare_->HoldForFirst(); }

  void RemoveAbandoned() { parts_.scratch->RemoveAbandoned(); }

  absl::StatusOr<std::shared_ptr<Executor>> For(std::string_view key) override {
    if (key.empty()) return MakeError(ErrorCode::kInvalidOption, "the key of an executor is empty");
    const std::lock_guard lock(mutex_);
    if (closed_) return MakeError(ErrorCode::kClosed, "the executor set is closed");
    const auto known = executors_.find(key);
    if (known != executors_.end()) return known->second;
    if (executors_.size() >= parts_.options.max_executors) {
      return MakeError(ErrorCode::kBusy, absl::StrFormat("this set has its maximum of %d executors",
                                                         parts_.options.max_executors));
    }
    if (spare_ != nullptr) return executors_.emplace(key, std::move(spare_)).first->second;
    absl::StatusOr<std::shared_ptr<SandboxExecutor>> executor = Make();
    if (!executor.ok()) return executor.status();
    return executors_.emplace(key, *std::move(executor)).first->second;
  }

  absl::Status Close() override {
    const std::uint64_t seen = close_attempts_.load();
    const std::lock_guard lock(close_mutex_);
    // A call that was at it meanwhile speaks for this one, too.
    const bool done = close_attempts_.load() > 0 && close_status_.ok();
    if (done || close_attempts_.load() != seen) return close_status_;
    close_status_ = TryClose();
    close_attempts_.fetch_add(1);
    return close_status_;
  }

  const CompileReport& Report() const override { return report_; }

 private:
  [[nodiscard]] bool HasServedNetwork() const {
    return parts_.options.egress != nullptr && parts_.tier == Tier::kNamespaces &&
           IsServed(parts_.profile);
  }

  // Where commands have no network: see `EgressDoor`.
  [[nodiscard]] bool HasDoor() const {
    return parts_.options.egress != nullptr && parts_.tier == Tier::kLandlock && parts_.is_led;
  }

  [[nodiscard]] bool SharesNetwork() const {
    return parts_.options.share_network && parts_.tier == Tier::kNamespaces &&
           !Unconfined(parts_.profile) && parts_.profile.Settings().network != Access::kAllow;
  }

  // Begins the first one ahead.
  absl::StatusOr<std::shared_ptr<CommandNetworks>> MakeNetworks() {
    const bool is_served = HasServedNetwork() || HasDoor();
    if (!is_served && !SharesNetwork()) return nullptr;
    const NetworkKind kind = parts_.tier == Tier::kLandlock ? NetworkKind::kDoor
                             : SharesNetwork()              ? NetworkKind::kShared
                                                            : NetworkKind::kEach;
    auto networks = std::make_shared<CommandNetworks>(
        parts_.profile, parts_.launcher, is_served ? parts_.options.egress : nullptr, kind);
    absl::Status begun = networks->Prepare();
    if (!begun.ok()) return begun;
    return networks;
  }

  absl::StatusOr<std::shared_ptr<SandboxExecutor>> Make() {
    // First, since the kernel takes a while.
    absl::StatusOr<std::shared_ptr<CommandNetworks>> networks = MakeNetworks();
    if (!networks.ok()) return networks.status();
    const std::string name = absl::StrCat(++folders_made_);
    absl::StatusOr<ScratchFolders> folders =
        parts_.scratch->MakeExecutorFolders(name, parts_.profile.Settings().home);
    if (!folders.ok()) return folders.status();
    if (HasServedNetwork()) {
      folders->resolver = absl::StrCat(parts_.scratch->path(), "/", name, "-resolver");
    }
    folders->index_cache = parts_.options.index_cache;
    absl::StatusOr<std::shared_ptr<SandboxExecutor>> executor =
        MakeIn(*folders, *std::move(networks));
    if (!executor.ok()) (void)parts_.scratch->RemoveExecutorFolders(name);
    return executor;
  }

  absl::StatusOr<std::shared_ptr<SandboxExecutor>> MakeIn(
      const ScratchFolders& folders, std::shared_ptr<CommandNetworks> networks) {
    SandboxExecutor::Parts parts;
    parts.executor_id = RandomId();
    if (parts_.options.make_authority) {
      absl::StatusOr<std::shared_ptr<GrantAuthority>> authority =
          parts_.options.make_authority(parts.executor_id);
      if (!authority.ok()) return authority.status();
      parts.authority = *std::move(authority);
    }
    parts.plan_inputs = {parts_.profile,
                         folders,
                         parts_.limits,
                         parts_.seccomp_program,
                         parts_.observer_program,
                         parts_.reads_observer_program,
                         parts_.observed.connects || parts_.observed.paths,
                         parts_.observed.paths,
                         parts_.observed.metadata,
                         parts_.observed.unix_sockets,
                         parts_.landlock_abi,
                         parts_.tier,
                         HasServedNetwork() ? 0 : parts_.options.ready_sandboxes,
                         parts_.cgroups};
    if (!parts_.observer_program.empty()) parts.observer = observer_;
    parts.report = parts_.report;
    parts.environment =
        BuildEnvironment(parts_.profile, parts_.caller_variables, parts_.user, PathsOf(folders));
    parts.launcher = parts_.launcher;
    parts.networks = std::move(networks);
    if (HasServedNetwork() || HasDoor()) parts.egress = parts_.options.egress;
    parts.share_network = SharesNetwork();
    parts.log = parts_.options.log;
    const std::shared_ptr<GrantAuthority> authority = parts.authority;
    absl::StatusOr<std::shared_ptr<SandboxExecutor>> executor =
        SandboxExecutor::Create(std::move(parts));
    if (!executor.ok() && authority != nullptr) authority->Close();
    return executor;
  }

  EnvironmentPaths PathsOf(const ScratchFolders& folders) const {
    const ProfileConfig& settings = parts_.profile.Settings();
    // Where there is no view, they are where they are.
    if (Unconfined(parts_.profile) || parts_.tier == Tier::kLandlock) {
      if (settings.home == HomeMode::kReal) {
        return {settings.home_root, folders.temporary, folders.cache};
      }
      return {folders.home, folders.temporary, JoinPath(folders.home, kCacheInHome)};
    }
    const FoldersInView inside = FindFoldersInView(parts_.profile);
    return {inside.home, inside.temporary, inside.cache};
  }

  // Every step can be repeated. What may still run keeps its folder and its launcher.
  absl::Status TryClose() {
    std::vector<std::shared_ptr<SandboxExecutor>> executors;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      for (const auto& [key, executor] : executors_) executors.push_back(executor);
      if (spare_ != nullptr) executors.push_back(spare_);
    }
    absl::Status status;
    for (const auto& executor : executors) status.Update(executor->Close());
    if (!status.ok()) return status;
    parts_.launcher->Kill();
    status.Update(parts_.scratch->Remove());  // While it ends.
    parts_.launcher->Stop();
    if (parts_.cgroups != nullptr) status.Update(parts_.cgroups->Remove());
    return status;
  }

  const SetParts parts_;
  const std::shared_ptr<Observer> observer_ = std::make_shared<Observer>();
  CompileReport report_;  // Complete before the set is shared.

  std::mutex mutex_;
  bool closed_ = false;
  int folders_made_ = 0;
  std::shared_ptr<SandboxExecutor> spare_;
  std::map<std::string, std::shared_ptr<SandboxExecutor>, std::less<>> executors_;

  std::mutex close_mutex_;
  std::atomic<std::uint64_t> close_attempts_ = 0;
  absl::Status close_status_;
};

absl::Status CheckOptions(const Profile& profile, const ExecutorSetOptions& options) {
  if (!profile.valid()) {
    return MakeError(ErrorCode::kInvalidProfile, "the profile is default-constructed");
  }
  if (options.scratch_root.empty()) {
    return MakeError(ErrorCode::kInvalidOption,
                     "scratch_root is mandatory: name an existing folder of yours");
  }
  if (options.max_executors == 0) {
    return MakeError(ErrorCode::kInvalidOption, "max_executors is mandatory: at least 1");
  }
  if (!options.index_cache.empty() && options.index_cache.front() != '/') {
    return MakeError(ErrorCode::kInvalidOption, "index_cache is not an absolute path");
  }
  const AuditMode audit = profile.Settings().audit;
  if (audit != AuditMode::kOptional && options.log == nullptr) {
    return MakeError(ErrorCode::kInvalidOption,
                     "the profile's \"audit\" requires an audit log, and there is none");
  }
  if (audit == AuditMode::kDurable && !options.log->IsDurable()) {
    return MakeError(ErrorCode::kInvalidOption,
                     "the profile's \"audit\" is durable, and the log is not: open it with "
                     "AuditSync::kEachRecord");
  }
  return absl::OkStatus();
}

// Whether the set may simply be made for the namespaces tier, and the first sandbox of its own show
// whether the host can do that. Where the caller wants another tier, the host is probed.
bool ProvesItself(const Profile& profile, const ExecutorSetOptions& options, int landlock_abi) {
  const char* const simulated = std::getenv("CORDON_SIMULATE_FAILURE");
  return profile.Settings().isolation != Isolation::kUnconfined && landlock_abi > 0 &&
         options.backend != Backend::kLandlock && (simulated == nullptr || *simulated == '\0');
}

// By cgroups where these hold what would else only be looked after. A cgroup that somebody named
// and that cannot be used is an error; that there is none is not.
absl::Status ChooseLimits(ProcessBound bound, SetParts& parts) {
  const Limits& limits = parts.profile.Settings().limits;
  const std::string& folder = parts.options.scratch_root;
  const std::string named = NamedCgroup(parts.options.cgroup_root);
  if (GainsByCgroup(limits, bound)) {
    absl::StatusOr<std::shared_ptr<CommandCgroups>> cgroups =
        MakeCommandCgroups(named, limits, folder);
    if (cgroups.ok() && MayWriteCgroups(parts.profile, (*cgroups)->path())) {
      cgroups = MakeError(ErrorCode::kUnavailable, "the profile lets commands write there");
    }
    if (cgroups.ok()) {
      parts.cgroups = *std::move(cgroups);
      bound = ProcessBound::kCgroup;
    } else if (!named.empty()) {
      return MakeError(ErrorCode::kUnavailable,
                       absl::StrFormat("the limits cannot be held by cgroups in %s, which "
                                       "cgroup_root or CORDON_CGROUP_ROOT names: %s",
                                       named, std::string(cgroups.status().message())));
    }
  }
  parts.limits = CompileLimits(limits, bound);
  return absl::OkStatus();
}

absl::Status ChooseConfinement(const HostProbe* assumed, SetParts& parts) {
  const Limits& limits = parts.profile.Settings().limits;
  if (Unconfined(parts.profile)) {
    parts.limits = CompileLimits(limits, ProcessBound::kWatch);
    parts.report = UnconfinedReport(parts.limits);
    return absl::OkStatus();
  }
  const HostProbe& host = assumed != nullptr ? *assumed : ProbeHost(parts.options.scratch_root);
  const absl::StatusOr<Tier> tier = ChooseTier(parts.options.backend, host);
  if (!tier.ok()) return tier.status();
  const bool on_host = *tier == Tier::kLandlock;
  const bool wants_egress = parts.options.egress != nullptr && IsServed(parts.profile);
  const std::string why_not_mediated = on_host ? WhyNotMediated() : std::string();
  const std::string why_no_unix_sockets =
      on_host ? WhyNoUnixSockets(parts.profile, why_not_mediated) : std::string();
  const std::string why_not_led =
      on_host && wants_egress ? WhyNotLed(host.landlock_abi) : std::string();
  const bool has_egress = parts.options.egress != nullptr && why_not_led.empty();
  if (parts.options.share_network && on_host) {
    return MakeError(ErrorCode::kUnavailable,
                     "commands can share a network only where they have one, in the namespaces "
                     "tier; leave share_network out");
  }
  absl::Status status = on_host
                            ? CheckSupportedOnHost(parts.profile, why_not_led, why_no_unix_sockets)
                            : absl::OkStatus();
  if (status.ok()) status = CheckSupported(parts.profile, has_egress);
  if (!status.ok()) return status;
  FilterUse use;
  use.on_host = on_host;
  use.mediated_metadata = on_host && why_not_mediated.empty();
  use.network = parts.profile.Settings().network == Access::kAllow;
  use.tracing = parts.profile.Settings().ack_tracing.given();
  use.nested_namespaces = parts.profile.Settings().ack_nested_namespaces.given();
  parts.is_led = on_host && wants_egress && has_egress;
  use.led_connections = on_host && !use.network;
  use.unix_sockets = on_host && why_no_unix_sockets.empty();
  absl::StatusOr<std::string> seccomp = CompileSeccompProgram(use);
  if (!seccomp.ok()) return seccomp.status();
  parts.seccomp_program = *std::move(seccomp);
  parts.observed.connects = !use.network && (!on_host || why_not_mediated.empty());
  parts.observed.paths = parts.options.explain_paths;
  parts.observed.metadata = use.mediated_metadata;
  parts.observed.names = use.mediated_metadata;
  parts.observed.unix_sockets = use.unix_sockets;
  status = ChooseLimits(on_host ? BoundOnHost(use.mediated_metadata)
                                : BoundInNamespaces(limits, parts.options.scratch_root),
                        parts);
  if (!status.ok()) return status;
  parts.observed.forks = parts.limits.counted_processes != 0;
  parts.observer_program = BuildObserverProgram(NativeArchitecture(), parts.observed);
  ObservedScope with_reads = parts.observed;
  with_reads.reads = true;
  parts.reads_observer_program = BuildObserverProgram(NativeArchitecture(), with_reads);
  parts.landlock_abi = host.landlock_abi;
  parts.tier = *tier;
  parts.report = on_host ? LandlockReport(parts.profile, host, parts.limits,
                                          {why_not_mediated, why_no_unix_sockets, parts.is_led})
                         : NamespacesReport(parts.profile, host, parts.limits, has_egress);
  if (parts.options.share_network && parts.profile.Settings().network != Access::kAllow) {
    parts.report.entries.push_back(
        {"network.shared", FeatureStatus::kNarrowed,
         "the commands of one executor share one network, but for those with grants of their own; "
         "refusals in it are listed with every command that ran meanwhile"});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SandboxExecutorSet>> CreateOn(const HostProbe* assumed,
                                                             const Profile& profile,
                                                             const ExecutorSetOptions& options) {
  SetParts parts;
  parts.profile = profile;
  parts.options = options;
  absl::Status status = ChooseConfinement(assumed, parts);
  if (status.ok()) status = CheckRequired(profile, parts.report);
  if (!status.ok()) return status;

  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch =
      ScratchFolder::Create(parts.options.scratch_root);
  if (!scratch.ok()) return scratch.status();
  parts.scratch = *std::move(scratch);
  absl::StatusOr<std::shared_ptr<Launcher>> launcher = TakeLauncher(parts.scratch->path());
  if (!launcher.ok()) return launcher.status();
  parts.launcher = *std::move(launcher);
  status = parts.launcher->OwnFolder(parts.scratch->root(), parts.scratch->name());
  if (status.ok() && parts.cgroups != nullptr) {
    status = parts.launcher->OwnCgroup(parts.cgroups->delegated(), parts.cgroups->name());
  }
  if (!status.ok()) return status;
  parts.caller_variables = CallerVariables();
  parts.user = CurrentUser();
  auto set = std::make_unique<SandboxExecutorSet>(std::move(parts));
  status = set->MakeSpare();
  if (!status.ok()) return status;
  return set;
}

}  // namespace
}  // namespace internal

void LeaveDelegatedCgroup() {
  internal::LeaveDelegatedCgroup(internal::NamedCgroup({}) == internal::kOwnDelegated);
}

absl::StatusOr<std::unique_ptr<ExecutorSet>> ExecutorSet::Create(const Profile& profile,
                                                                 ExecutorSetOptions options) {
  absl::Status status = internal::CheckOptions(profile, options);
  if (!status.ok()) return status;
  HostProbe assumed;
  assumed.tier = Tier::kNamespaces;
  assumed.landlock_abi = internal::QueryLandlockAbi();
  if (internal::ProvesItself(profile, options, assumed.landlock_abi)) {
    auto set = internal::CreateOn(&assumed, profile, options);
    absl::Status proved = set.ok() ? (*set)->BeginProof() : set.status();
    if (set.ok()) (*set)->RemoveAbandoned();  // While it is made.
    if (set.ok() && options.late_proof) (*set)->HoldForFirst();
    if (proved.ok() && !options.late_proof) proved = (*set)->Prove();
    if (proved.ok()) return *std::move(set);
    // Why not, and what is left, is found by looking at the host layer by layer.
  }
  auto set = internal::CreateOn(nullptr, profile, options);
  if (!set.ok()) return set.status();
  (*set)->RemoveAbandoned();
  return *std::move(set);
}

}  // namespace cordon
