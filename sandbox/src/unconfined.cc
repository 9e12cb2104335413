#include "unconfined.h"

namespace cordon::internal {

SandboxPlan UnconfinedPlan(const CompiledLimits& limits) {
  SandboxPlan plan;
  plan.confined = false;
  plan.namespaces = false;
  plan.host_network = true;
  plan.limits = limits.limits;
  plan.watched = limits.watched;
  return plan;
}

CompileReport UnconfinedReport(const CompiledLimits& limits) {
  CompileReport report;
  report.backend = "none";
  report.level = Level::kNone;
  report.guarantees.env_scrub = true;
  // A supervisor reaps every descendant, but nothing keeps a command from killing the supervisor.
  report.lifetime = LifetimeContainment::kBestEffort;
  report.entries = {
      {"process", FeatureStatus::kUnenforced, "unconfined by the profile's own choice"},
      {"filesystem.read", FeatureStatus::kUnenforced, "unconfined by the profile's own choice"},
      {"filesystem.write", FeatureStatus::kUnenforced, "unconfined by the profile's own choice"},
      {"network", FeatureStatus::kUnenforced, "unconfined by the profile's own choice"},
      {"environment", FeatureStatus::kEnforced, "built from an allowlist; nothing is inherited"},
  };
  for (ReportEntry entry : limits.entries) {
    // Level none claims nothing about limits either, since a command may leave its tree.
    if (entry.status == FeatureStatus::kEnforced) entry.status = FeatureStatus::kNarrowed;
    report.entries.push_back(entry);
  }
  return report;
}

}  // namespace cordon::internal
