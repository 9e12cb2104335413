#include "command_network.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

bool NeedsGateway(const EgressPlan& plan, const EgressProxy& proxy) {
  return !plan.targets.empty() || (plan.gated && proxy.HasAuthorizer());
}

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

CommandNetwork::Summary CommandNetwork::Finish() {
  Summary summary;
  summary.denials = session_->Denials();
  if (const std::vector<NetworkTarget> used = session_->UsedByAddress(); !used.empty()) {
    summary.entries.push_back(
        {"network.targets", FeatureStatus::kNarrowed,
         absl::StrCat("connections whose protocol names no host (neither TLS nor HTTP) were bound "
                      "by their address alone: ",
                      Texts(used))});
  }
  session_.reset();
  if (is_pooled_) pool_->GiveBack(std::move(network_));
  network_.reset();
  return summary;
}

CommandNetworks::CommandNetworks(const Profile& profile, std::shared_ptr<Launcher> launcher,
                                 std::shared_ptr<EgressProxy> proxy)
    : plan_(PlanOf(profile)),
      proxy_(std::move(proxy)),
      pool_(std::make_shared<NetworkPool>(std::move(launcher), NeedsGateway(plan_, *proxy_))) {}

absl::StatusOr<std::unique_ptr<CommandNetwork>> CommandNetworks::Open(
    const std::string& execution_id, const std::vector<NetworkTarget>& granted) {
  EgressPlan plan = plan_;
  plan.execution_id = execution_id;
  plan.targets.insert(plan.targets.end(), granted.begin(), granted.end());
  // A network in which something was reachable by a grant is no other command's.
  const bool is_pooled = granted.empty();
  absl::StatusOr<std::shared_ptr<NetworkNamespaces>> network =
      is_pooled ? pool_->Take() : pool_->MakeOnce();
  if (!network.ok()) return network.status();
  absl::StatusOr<std::unique_ptr<EgressSession>> session = proxy_->Serve(std::move(plan), *network);
  if (!session.ok()) return session.status();
  return std::make_unique<CommandNetwork>(pool_, is_pooled, *std::move(network),
                                          *std::move(session));
}

}  // namespace cordon::internal
