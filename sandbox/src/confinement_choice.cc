#include "confinement_choice.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "cgroup_choice.h"
#include "command_network.h"
#include "cordon/sdk/status.h"
#include "landlock_report.h"
#include "namespaces_report.h"
#include "seccomp_filter.h"
#include "seccomp_program.h"
#include "unconfined.h"

namespace cordon::internal {
namespace {

// One choice, made step by step.
class Choice {
 public:
  Choice(const Profile& profile, const ExecutorSetOptions& options)
      : profile_(profile), settings_(profile.Settings()), options_(options) {}

  absl::StatusOr<ChosenConfinement> Make(const HostProbe* assumed) {
    if (settings_.isolation == Isolation::kUnconfined) {
      chosen_.limits = CompileLimits(settings_.limits, ProcessBound::kWatch);
      chosen_.report = UnconfinedReport(chosen_.limits);
      return std::move(chosen_);
    }
    const HostProbe& host = assumed != nullptr ? *assumed : ProbeHost(options_.scratch_root);
    absl::Status status = ChooseTierOf(host);
    if (status.ok()) status = ChooseFilters();
    if (status.ok()) status = ChooseLimits();
    if (!status.ok()) return status;
    chosen_.observed.forks = chosen_.limits.counted_processes != 0;
    chosen_.observer_program = BuildObserverProgram(NativeArchitecture(), chosen_.observed);
    ObservedScope with_reads = chosen_.observed;
    with_reads.reads = true;
    chosen_.reads_observer_program = BuildObserverProgram(NativeArchitecture(), with_reads);
    MakeReport(host);
    return std::move(chosen_);
  }

 private:
  [[nodiscard]] bool OnHost() const { return chosen_.tier == Tier::kLandlock; }
  [[nodiscard]] bool IsMediated() const { return OnHost() && why_not_mediated_.empty(); }
  [[nodiscard]] bool HasNetwork() const { return settings_.network == Access::kAllow; }

  absl::Status ChooseTierOf(const HostProbe& host) {
    const absl::StatusOr<Tier> tier = ChooseTier(options_.backend, host);
    if (!tier.ok()) return tier.status();
    chosen_.tier = *tier;
    chosen_.landlock_abi = host.landlock_abi;
    const bool wants_egress = options_.egress != nullptr && IsServed(profile_);
    std::string why_not_led;
    if (OnHost()) {
      why_not_mediated_ = WhyNotMediated();
      why_no_unix_sockets_ = WhyNoUnixSockets(profile_, why_not_mediated_);
      if (wants_egress) why_not_led = WhyNotLed(host.landlock_abi);
    }
    has_egress_ = options_.egress != nullptr && why_not_led.empty();
    chosen_.is_led = OnHost() && wants_egress && has_egress_;
    if (options_.share_network && OnHost()) {
      return MakeError(ErrorCode::kUnavailable,
                       "commands can share a network only where they have one, in the namespaces "
                       "tier; leave share_network out");
    }
    if (OnHost()) {
      absl::Status status = CheckSupportedOnHost(profile_, why_not_led, why_no_unix_sockets_);
      if (!status.ok()) return status;
    }
    return CheckSupported(profile_, has_egress_);
  }

  absl::Status ChooseFilters() {
    FilterUse use;
    use.on_host = OnHost();
    use.mediated_metadata = IsMediated();
    use.network = HasNetwork();
    use.tracing = settings_.ack_tracing.given();
    use.nested_namespaces = settings_.ack_nested_namespaces.given();
    use.led_connections = OnHost() && !HasNetwork();
    use.unix_sockets = OnHost() && why_no_unix_sockets_.empty();
    absl::StatusOr<std::string> seccomp = CompileSeccompProgram(use);
    if (!seccomp.ok()) return seccomp.status();
    chosen_.seccomp_program = *std::move(seccomp);
    chosen_.observed.connects = !HasNetwork() && (!OnHost() || IsMediated());
    chosen_.observed.paths = options_.explain_paths;
    chosen_.observed.metadata = IsMediated();
    chosen_.observed.names = IsMediated();
    chosen_.observed.unix_sockets = use.unix_sockets;
    return absl::OkStatus();
  }

  // By cgroups where these hold what would else only be looked after. A cgroup that somebody named
  // and that cannot be used is an error; that there is none is not.
  absl::Status ChooseLimits() {
    const Limits& limits = settings_.limits;
    const std::string& folder = options_.scratch_root;
    ProcessBound bound = OnHost() ? BoundOnHost(IsMediated()) : BoundInNamespaces(limits, folder);
    const std::string named = NamedCgroup(options_.cgroup_root);
    if (GainsByCgroup(limits, bound)) {
      absl::StatusOr<std::shared_ptr<CommandCgroups>> cgroups =
          MakeCommandCgroups(named, limits, folder);
      if (cgroups.ok() && MayWriteCgroups(profile_, (*cgroups)->path())) {
        cgroups = MakeError(ErrorCode::kUnavailable, "the profile lets commands write there");
      }
      if (cgroups.ok()) {
        chosen_.cgroups = *std::move(cgroups);
        bound = ProcessBound::kCgroup;
      } else if (!named.empty()) {
        return MakeError(ErrorCode::kUnavailable,
                         absl::StrFormat("the limits cannot be held by cgroups in %s, which "
                                         "cgroup_root or CORDON_CGROUP_ROOT names: %s",
                                         named, std::string(cgroups.status().message())));
      }
    }
    chosen_.limits = CompileLimits(limits, bound);
    return absl::OkStatus();
  }

  void MakeReport(const HostProbe& host) {
    chosen_.report = OnHost()
                         ? LandlockReport(profile_, host, chosen_.limits,
                                          {why_not_mediated_, why_no_unix_sockets_, chosen_.is_led})
                         : NamespacesReport(profile_, host, chosen_.limits, has_egress_);
    if (!options_.share_network || HasNetwork()) return;
    chosen_.report.entries.push_back(
        {"network.shared", FeatureStatus::kNarrowed,
         "the commands of one executor share one network, but for those with grants of their own; "
         "refusals in it are listed with every command that ran meanwhile"});
  }

  const Profile& profile_;
  const ProfileConfig& settings_;
  const ExecutorSetOptions& options_;
  ChosenConfinement chosen_;
  std::string why_not_mediated_;  // In the landlock tier.
  std::string why_no_unix_sockets_;
  bool has_egress_ = false;
};

}  // namespace

absl::StatusOr<ChosenConfinement> ChooseConfinement(const Profile& profile,
                                                    const ExecutorSetOptions& options,
                                                    const HostProbe* assumed) {
  return Choice(profile, options).Make(assumed);
}

}  // namespace cordon::internal
