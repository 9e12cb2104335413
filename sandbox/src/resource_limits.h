// Resource limits by setrlimit(2): what the launcher applies, and what may honestly be said of it.

#ifndef CORDON_SANDBOX_SRC_RESOURCE_LIMITS_H_
#define CORDON_SANDBOX_SRC_RESOURCE_LIMITS_H_

#include <vector>

#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "plan.h"

namespace cordon::internal {

struct CompiledLimits {
  std::vector<ResourceLimit> limits;
  std::uint64_t watched_processes = 0;  // See `SandboxPlan`.
  // At least one limit is set, and each bounds the whole tree: the `resource_limits` guarantee.
  bool whole_tree = false;
  std::vector<ReportEntry> entries;
};

// `own_user_namespace`: the command runs in one, so that RLIMIT_NPROC counts its tree alone
// (user_namespaces(7), Linux 5.14). `root`: the calling user is the initial namespace's uid 0,
// which that limit never binds (getrlimit(2)).
[[nodiscard]] CompiledLimits CompileLimits(const Limits& limits, bool own_user_namespace,
                                           bool root);

// For the landlock tier: there the supervisor watches the number of processes.
[[nodiscard]] CompiledLimits CompileLimitsOnHost(const Limits& limits);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_RESOURCE_LIMITS_H_
