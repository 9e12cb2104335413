#include "namespaces_report.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "claimed_guarantees.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "landlock_report.h"

namespace cordon::internal {
namespace {

// Landlock scopes abstract unix sockets and signals from this version on (landlock(7)).
constexpr int kAbiWithScopes = 6;

std::string LayerText(const LayerProbe& layer) {
  return absl::StrFormat("%s (%s: %s): %s", layer.layer, layer.step,
                         std::string(std::strerror(layer.error_number)), layer.fix);
}

absl::Status Unavailable(std::string_view message) {
  return MakeError(ErrorCode::kUnavailable, message);
}

// Why `report` lacks the guarantee `name`, and what to do.
std::string ReasonFor(std::string_view name, const Profile& profile, const CompileReport& report) {
  if (report.level == Level::kNone) {
    return "the profile is unconfined: set isolation to sandboxed";
  }
  if (name == "resource_limits") {
    std::vector<std::string> details;
    for (const ReportEntry& entry : report.entries) {
      if (entry.feature.rfind("limits", 0) != 0) continue;
      if (entry.status != FeatureStatus::kEnforced) details.push_back(entry.detail);
    }
    return absl::StrJoin(details, "; ");
  }
  if (name.find("network") != std::string_view::npos &&
      profile.Settings().network == Access::kAllow) {
    return "the profile leaves the network open: set network to deny or gated";
  }
  return absl::StrFormat("the %s tier does not give it", report.backend);
}

ReportEntry OpenNetworkEntry(int landlock_abi) {
  std::string detail = "the profile allows the host's network";
  if (landlock_abi < kAbiWithScopes) {
    absl::StrAppend(&detail,
                    "; abstract unix sockets of the host are reachable, too: that needs Landlock "
                    "with scopes (Linux 6.12)");
  }
  return {"network", FeatureStatus::kUnenforced, detail};
}

void AddPorts(std::string_view feature, std::string_view detail,
              const std::vector<std::uint16_t>& ports, std::vector<ReportEntry>& entries) {
  if (ports.empty()) return;
  entries.push_back({std::string(feature), FeatureStatus::kEnforced,
                     absl::StrFormat("%s: %s", detail, absl::StrJoin(ports, ", "))});
}

void AddNetworkEntries(const ProfileConfig& settings, int landlock_abi, bool has_egress,
                       std::vector<ReportEntry>& entries) {
  if (settings.network == Access::kAllow) {
    entries.push_back(OpenNetworkEntry(landlock_abi));
    return;
  }
  const bool gated = settings.network == Access::kGated;
  if (!has_egress || (!gated && settings.network_targets.empty() &&
                      settings.loopback_ports.empty() && settings.publish_ports.empty())) {
    entries.push_back({"network", FeatureStatus::kEnforced,
                       "a network namespace of its own with nothing but its loopback"});
    return;
  }
  entries.push_back({"network", FeatureStatus::kEnforced,
                     "a network namespace of its own, whose only way out is the egress proxy"});
  if (!settings.network_targets.empty()) {
    entries.push_back(
        {"network.targets", FeatureStatus::kEnforced,
         absl::StrCat("by name and port; the server name of TLS and the Host of HTTP must be the "
                      "name that was granted: ",
                      absl::StrJoin(settings.network_targets, ", "))});
  }
  AddPorts("network.host_ports", "the host's 127.0.0.1 at the same port inside, these only",
           settings.loopback_ports, entries);
  AddPorts("network.publish", "the host's 127.0.0.1 leads inside, while a command runs",
           settings.publish_ports, entries);
}

// What the profile opens by an acknowledgement: its price.
void AddOpened(const ProfileConfig& settings, std::vector<ReportEntry>& entries) {
  if (settings.ack_tracing.given()) {
    entries.push_back({"process.tracing", FeatureStatus::kUnenforced,
                       "opened by ack_tracing: the processes of one sandbox can read and steer "
                       "each other; none outside of it can be traced"});
  }
  if (settings.ack_nested_namespaces.given()) {
    entries.push_back(
        {"process.nested_namespaces", FeatureStatus::kUnenforced,
         "opened by ack_nested_namespaces: in user namespaces that it makes a command has every "
         "capability, so more of the kernel can be attacked; nothing can be mounted or entered "
         "there, and root cannot map ids, since its /proc is read-only"});
  }
}

// The view makes these itself, so a workspace there cannot be shown as it is on the host.
absl::Status CheckWorkspace(const std::string& workspace) {
  constexpr const char* kOwn[] = {"/proc", "/sys", "/etc", "/run"};
  bool own = workspace == "/" || workspace == "/dev";
  for (const char* const folder : kOwn) own = own || IsWithin(workspace, folder);
  if (!own) return absl::OkStatus();
  return Unavailable(
      absl::StrFormat("the workspace %s holds or is a part of what every sandbox has of its own: "
                      "choose a folder of "
                      "a project",
                      workspace));
}

}  // namespace

absl::StatusOr<Tier> ChooseTier(Backend backend, const HostProbe& host) {
  const bool full = host.tier == Tier::kNamespaces;
  if (full && backend != Backend::kLandlock) return Tier::kNamespaces;
  if (backend != Backend::kNamespaces && host.landlock_tier) return Tier::kLandlock;
  std::vector<std::string> failed;
  for (const LayerProbe& layer : host.layers) {
    if (!layer.ok) failed.push_back(LayerText(layer));
  }
  if (backend != Backend::kNamespaces && host.landlock_abi > 0 &&
      host.landlock_abi < kLandlockAbiOfTier) {
    failed.push_back(absl::StrFormat(
        "landlock: this kernel's has ABI %d, which cannot keep signals in; that needs ABI %d "
        "(Linux 6.12)",
        host.landlock_abi, kLandlockAbiOfTier));
  }
  return Unavailable(absl::StrFormat("this host cannot build the %s: %s",
                                     backend == Backend::kLandlock ? "landlock tier"
                                     : backend == Backend::kNamespaces
                                         ? "namespaces tier"
                                         : "namespaces tier, nor the landlock tier",
                                     absl::StrJoin(failed, "; ")));
}

absl::Status CheckSupported(const Profile& profile, bool has_egress) {
  const ProfileConfig& settings = profile.Settings();
  if (const absl::Status status = CheckWorkspace(settings.workspace_root); !status.ok()) {
    return status;
  }
  // With the host's own network everything on these lists is reachable anyway.
  if (settings.network == Access::kAllow || has_egress) return absl::OkStatus();
  std::vector<std::string> missing;
  if (!settings.network_targets.empty()) missing.emplace_back("network_targets");
  if (!settings.loopback_ports.empty()) missing.emplace_back("loopback_ports");
  if (!settings.publish_ports.empty()) missing.emplace_back("publish_ports");
  if (missing.empty()) return absl::OkStatus();
  return Unavailable(absl::StrFormat(
      "the profile sets %s, which need an egress proxy, and the executor set was made without one "
      "(ExecutorSetOptions::egress): give it one, remove them, or set network to allow to leave "
      "the network unconfined",
      absl::StrJoin(missing, ", ")));
}

absl::Status CheckRequired(const Profile& profile, const CompileReport& report) {
  std::vector<std::string> missing;
  for (const std::string_view name :
       GuaranteeNames(Missing(profile.RequiredGuarantees(), report.guarantees))) {
    missing.push_back(absl::StrFormat("%s (%s)", name, ReasonFor(name, profile, report)));
  }
  if (missing.empty()) return absl::OkStatus();
  return Unavailable(
      absl::StrCat("required guarantees cannot be given: ", absl::StrJoin(missing, "; ")));
}

CompileReport NamespacesReport(const Profile& profile, const HostProbe& host,
                               const CompiledLimits& limits, bool has_egress) {
  CompileReport report;
  report.backend = std::string(TierName(Tier::kNamespaces));
  report.level = Level::kFull;
  report.lifetime = LifetimeContainment::kEnforced;
  report.guarantees = ClaimedGuarantees(profile, limits);
  report.entries = {
      {"process", FeatureStatus::kEnforced,
       "user, pid, ipc, uts and cgroup namespaces, no capabilities, no_new_privs, seccomp"},
      {"environment", FeatureStatus::kEnforced, "built from an allowlist; nothing is inherited"}};
  AddOpened(profile.Settings(), report.entries);
  AddNetworkEntries(profile.Settings(), host.landlock_abi, has_egress, report.entries);
  report.entries.insert(report.entries.end(), limits.entries.begin(), limits.entries.end());
  return report;
}

}  // namespace cordon::internal
