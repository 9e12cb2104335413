// What the landlock tier can promise for a profile. It shares the host's paths, processes and
// network with the command, so it says of each what is narrower than with namespaces.

#ifndef CORDON_SANDBOX_SRC_LANDLOCK_REPORT_H_
#define CORDON_SANDBOX_SRC_LANDLOCK_REPORT_H_

#include <vector>

#include "absl/status/status.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "host_rules.h"
#include "resource_limits.h"

namespace cordon::internal {

// Signals can be kept in only from this version on (Linux 6.12): before, a command could end the
// program that supervises it. Every sandboxed profile needs that (`process_boundary`).
inline constexpr int kLandlockAbiOfTier = 6;

// Returns kUnavailable for what a profile asks that only a view or a network namespace could give.
[[nodiscard]] absl::Status CheckSupportedOnHost(const Profile& profile);

// The report but for its entries about files. `mediates_metadata`: modes and times are changed for
// the command (MetadataMediator).
[[nodiscard]] CompileReport LandlockReport(const Profile& profile, const HostProbe& host,
                                           const CompiledLimits& limits, bool mediates_metadata);

// What `rules` mean for files.
[[nodiscard]] std::vector<ReportEntry> HostFileEntries(const HostRules& rules);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LANDLOCK_REPORT_H_
