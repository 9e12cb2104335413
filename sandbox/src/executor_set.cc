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
#include "command_network.h"
#include "confinement_choice.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "delegated_cgroup.h"
#include "early_launcher.h"
#include "environment.h"
#include "executor.h"
#include "landlock_abi.h"
#include "namespaces_report.h"
#include "scratch.h"
#include "view_system.h"

namespace cordon {
namespace internal {
namespace {

// What all executors of a set share, fixed when the set is made.
struct SetParts {
  Profile profile;
  ExecutorSetOptions options;
  ChosenConfinement chosen;
  Variables caller_variables;
  UserIdentity user;
  std::unique_ptr<ScratchFolder> scratch;
  std::shared_ptr<Launcher> launcher;
};

bool Unconfined(const Profile& profile) {
  return profile.Settings().isolation == Isolation::kUnconfined;
}

class SandboxExecutorSet final : public ExecutorSet {
 public:
  explicit SandboxExecutorSet(SetParts parts)
      : parts_(std::move(parts)), report_(parts_.chosen.report) {}
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
    return parts_.options.egress != nullptr && parts_.chosen.tier == Tier::kNamespaces &&
           IsServed(parts_.profile);
  }

  // Where commands have no network: see `EgressDoor`.
  [[nodiscard]] bool HasDoor() const {
    return parts_.options.egress != nullptr && parts_.chosen.tier == Tier::kLandlock &&
           parts_.chosen.is_led;
  }

  [[nodiscard]] bool SharesNetwork() const {
    return parts_.options.share_network && parts_.chosen.tier == Tier::kNamespaces &&
           !Unconfined(parts_.profile) && parts_.profile.Settings().network != Access::kAllow;
  }

  // Begins the first one ahead.
  absl::StatusOr<std::shared_ptr<CommandNetworks>> MakeNetworks() {
    const bool is_served = HasServedNetwork() || HasDoor();
    if (!is_served && !SharesNetwork()) return nullptr;
    const NetworkKind kind = parts_.chosen.tier == Tier::kLandlock ? NetworkKind::kDoor
                             : SharesNetwork()                     ? NetworkKind::kShared
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
                         parts_.chosen.limits,
                         parts_.chosen.seccomp_program,
                         parts_.chosen.observer_program,
                         parts_.chosen.reads_observer_program,
                         parts_.chosen.observed.connects || parts_.chosen.observed.paths,
                         parts_.chosen.observed.paths,
                         parts_.chosen.observed.metadata,
                         parts_.chosen.observed.unix_sockets,
                         parts_.chosen.landlock_abi,
                         parts_.chosen.tier,
                         HasServedNetwork() ? 0 : parts_.options.ready_sandboxes,
                         parts_.chosen.cgroups};
    if (!parts_.chosen.observer_program.empty()) parts.observer = observer_;
    parts.report = parts_.chosen.report;
    parts.environment =
        BuildEnvironment(parts_.profile, parts_.caller_variables, parts_.user, PathsOf(folders));
    parts.launcher = parts_.launcher;
    parts.published_names = published_names_;
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
    if (Unconfined(parts_.profile) || parts_.chosen.tier == Tier::kLandlock) {
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
    if (parts_.chosen.cgroups != nullptr) status.Update(parts_.chosen.cgroups->Remove());
    return status;
  }

  const SetParts parts_;
  const std::shared_ptr<Observer> observer_ = std::make_shared<Observer>();
  const std::shared_ptr<PublishedNames> published_names_ =
      std::make_shared<PublishedNames>(parts_.scratch->path());
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

absl::StatusOr<std::unique_ptr<SandboxExecutorSet>> CreateOn(const HostProbe* assumed,
                                                             const Profile& profile,
                                                             const ExecutorSetOptions& options) {
  SetParts parts;
  parts.profile = profile;
  parts.options = options;
  absl::StatusOr<ChosenConfinement> chosen = ChooseConfinement(profile, options, assumed);
  if (!chosen.ok()) return chosen.status();
  parts.chosen = *std::move(chosen);
  absl::Status status = CheckRequired(profile, parts.chosen.report);
  if (!status.ok()) return status;

  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch =
      ScratchFolder::Create(parts.options.scratch_root);
  if (!scratch.ok()) return scratch.status();
  parts.scratch = *std::move(scratch);
  absl::StatusOr<std::shared_ptr<Launcher>> launcher = TakeLauncher(parts.scratch->path());
  if (!launcher.ok()) return launcher.status();
  parts.launcher = *std::move(launcher);
  // It may still be starting: what it says is waited for when the rest is done.
  const absl::StatusOr<std::uint64_t> owned =
      parts.launcher->BeginOwnFolder(parts.scratch->root(), parts.scratch->name());
  if (!owned.ok()) return owned.status();
  if (parts.chosen.cgroups != nullptr) {
    status =
        parts.launcher->OwnCgroup(parts.chosen.cgroups->delegated(), parts.chosen.cgroups->name());
  }
  if (!status.ok()) return status;
  parts.caller_variables = CallerVariables();
  parts.user = CurrentUser();
  const std::shared_ptr<Launcher> its_launcher = parts.launcher;
  auto set = std::make_unique<SandboxExecutorSet>(std::move(parts));
  status = set->MakeSpare();
  if (status.ok()) status = its_launcher->AwaitOwned(*owned);
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
