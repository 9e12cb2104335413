// What the namespaces tier can promise for a profile, and why nothing can when it cannot.

#ifndef CORDON_SANDBOX_SRC_NAMESPACES_REPORT_H_
#define CORDON_SANDBOX_SRC_NAMESPACES_REPORT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "resource_limits.h"

namespace cordon::internal {

// The tier to use: the best one that `backend` leaves. Returns kUnavailable when `host` cannot
// build it, naming each layer that failed and the fix.
[[nodiscard]] absl::StatusOr<Tier> ChooseTier(Backend backend, const HostProbe& host);

// Returns kUnavailable for what a profile asks and there is not: it would otherwise be silently
// ignored. `has_egress`: an egress proxy was given.
[[nodiscard]] absl::Status CheckSupported(const Profile& profile, bool has_egress);

// Returns kUnavailable, naming each guarantee that `profile` requires and `report` lacks, with the
// reason and the fix.
[[nodiscard]] absl::Status CheckRequired(const Profile& profile, const CompileReport& report);

// The report but for its entries about files, which the compiled view adds.
[[nodiscard]] CompileReport NamespacesReport(const Profile& profile, const HostProbe& host,
                                             const CompiledLimits& limits, bool has_egress);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_NAMESPACES_REPORT_H_
