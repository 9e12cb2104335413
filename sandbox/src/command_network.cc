#include "command_network.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cordon/sdk/digest.h"

namespace cordon::internal {
namespace {

EgressPlan PlanOf(const Profile& profile) {
  const ProfileConfig& settings = profile.Settings();
  EgressPlan plan;
  for (const std::string& text : settings.network_targets) {
    absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(text);
    if (target.ok()) plan.targets.push_back(*std::move(target));  // The profile checked it.
  }
  plan.host_ports = settings.loopback_ports;
  plan.publish_ports = settings.publish_ports;
  plan.gated = settings.network == Access::kGated;
  return plan;
}

bool NeedsGateway(const EgressPlan& plan, const EgressProxy* proxy) {
  if (proxy == nullptr) return false;
  return !plan.targets.empty() || (plan.gated && proxy->HasAuthorizer());
}

EgressPlan Ungated(EgressPlan plan) {
  plan.gated = false;
  return plan;
}

// What was refused since `before`.
std::vector<Denial> Since(const std::vector<Denial>& before, std::vector<Denial> now) {
  for (Denial& denial : now) {
    for (const Denial& earlier : before) {
      const bool same = earlier.kind == denial.kind && earlier.target == denial.target;
      if (same) denial.count -= std::min(denial.count, earlier.count);
    }
  }
  std::erase_if(now, [](const Denial& denial) { return denial.count == 0; });
  return now;
}

// Names are asked for over TCP, since there are no datagrams, and of one resolver however many the
// host has (resolv.conf(5)).
constexpr std::string_view kResolverVariable = "RES_OPTIONS=";
constexpr std::string_view kResolverOptions = "use-vc attempts:1 timeout:2";

std::string Texts(const std::vector<NetworkTarget>& targets) {
  return absl::StrJoin(targets, ", ", [](std::string* out, const NetworkTarget& target) {
    absl::StrAppend(out, NetworkTargetText(target));
  });
}

}  // namespace

bool IsServed(const Profile& profile) {
  const ProfileConfig& settings = profile.Settings();
  if (settings.network == Access::kAllow) return false;
  return settings.network == Access::kGated || !settings.network_targets.empty() ||
         !settings.loopback_ports.empty() || !settings.publish_ports.empty();
}

CommandNetwork::CommandNetwork(std::shared_ptr<SharedNetwork> shared)
    : is_pooled_(false), network_(shared->network), shared_(std::move(shared)) {
  if (shared_->session != nullptr) refused_before_ = shared_->session->Denials();
}

// What the profile passes on has the last word, but for use-vc, which nothing takes back.
void CommandNetwork::AddVariables(std::vector<std::string>& environment) const {
  if (door_ == nullptr) return;
  for (std::string& entry : environment) {
    if (!entry.starts_with(kResolverVariable)) continue;
    entry = absl::StrCat(std::string(kResolverVariable), std::string(kResolverOptions), " ",
                         entry.substr(kResolverVariable.size()));
    return;
  }
  environment.push_back(
      absl::StrCat(std::string(kResolverVariable), std::string(kResolverOptions)));
}

CommandNetwork::Summary CommandNetwork::Finish() {
  Summary summary;
  const EgressSession* const session = shared_ != nullptr ? shared_->session.get()
                                       : door_ != nullptr ? door_.get()
                                                          : session_.get();
  if (session != nullptr) {
    summary.approved = session->Approved();
    summary.denials = Since(refused_before_, session->Denials());
    if (const std::vector<NetworkTarget> used = session->UsedByAddress(); !used.empty()) {
      summary.entries.push_back(
          {"network.targets", FeatureStatus::kNarrowed,
           absl::StrCat("connections whose protocol names no host (neither TLS nor HTTP) were "
                        "bound by their address alone: ",
                        Texts(used))});
    }
  }
  session_.reset();
  door_.reset();
  if (is_pooled_) pool_->GiveBack(std::move(network_));
  network_.reset();
  return summary;
}

CommandNetworks::CommandNetworks(const Profile& profile, std::shared_ptr<Launcher> launcher,
                                 std::shared_ptr<EgressProxy> proxy, NetworkKind kind)
    : plan_(PlanOf(profile)),
      proxy_(std::move(proxy)),
      kind_(kind),
      pool_(std::make_shared<NetworkPool>(
          std::move(launcher),
          NeedsGateway(kind == NetworkKind::kShared ? Ungated(plan_) : plan_, proxy_.get()))) {}

absl::Status CommandNetworks::Try(
    const std::function<absl::Status(const std::shared_ptr<NetworkNamespaces>&)>& use) {
  if (kind_ == NetworkKind::kShared) {
    const absl::StatusOr<std::unique_ptr<CommandNetwork>> shared = Join();
    return shared.ok() ? use((*shared)->network()) : shared.status();
  }
  absl::StatusOr<std::shared_ptr<NetworkNamespaces>> network = pool_->Take();
  if (!network.ok()) return network.status();
  absl::Status status = use(*network);
  pool_->GiveBack(*std::move(network));
  return status;
}

absl::StatusOr<std::unique_ptr<CommandNetwork>> CommandNetworks::Join() {
  const std::lock_guard lock(mutex_);
  if (shared_ == nullptr) {
    absl::StatusOr<std::shared_ptr<NetworkNamespaces>> network = pool_->Take();
    if (!network.ok()) return network.status();
    auto shared = std::make_shared<SharedNetwork>();
    shared->network = *std::move(network);
    if (proxy_ != nullptr) {
      EgressPlan plan = Ungated(plan_);
      plan.execution_id = RandomId();
      absl::StatusOr<std::unique_ptr<EgressSession>> session =
          proxy_->Serve(std::move(plan), shared->network);
      if (!session.ok()) return session.status();
      shared->session = *std::move(session);
    }
    shared_ = std::move(shared);
  }
  return std::make_unique<CommandNetwork>(shared_);
}

void CommandNetworks::Close() {
  {
    const std::lock_guard lock(mutex_);
    shared_.reset();
  }
  pool_->Close();
}

absl::StatusOr<std::unique_ptr<CommandNetwork>> CommandNetworks::Open(
    const std::string& execution_id, const std::vector<NetworkTarget>& granted) {
  EgressPlan plan = plan_;
  plan.execution_id = execution_id;
  plan.targets.insert(plan.targets.end(), granted.begin(), granted.end());
  if (kind_ == NetworkKind::kDoor) return OpenDoor(std::move(plan));
  // A network in which something was reachable by a grant is no other command's.
  const bool is_pooled = granted.empty() && kind_ == NetworkKind::kEach;
  absl::StatusOr<std::shared_ptr<NetworkNamespaces>> network =
      is_pooled ? pool_->Take() : pool_->MakeOnce();
  if (!network.ok()) return network.status();
  absl::StatusOr<std::unique_ptr<EgressSession>> session = proxy_->Serve(std::move(plan), *network);
  if (!session.ok()) return session.status();
  return std::make_unique<CommandNetwork>(pool_, is_pooled, *std::move(network),
                                          *std::move(session));
}

absl::StatusOr<std::unique_ptr<CommandNetwork>> CommandNetworks::OpenDoor(EgressPlan plan) {
  absl::StatusOr<std::unique_ptr<EgressDoor>> door = proxy_->ServeDoor(std::move(plan));
  if (!door.ok()) return door.status();
  return std::make_unique<CommandNetwork>(*std::move(door));
}

}  // namespace cordon::internal
