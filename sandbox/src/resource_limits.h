// The limits of a profile: what the launcher applies, by which mechanism, and what may honestly be
// said of it.

#ifndef CORDON_SANDBOX_SRC_RESOURCE_LIMITS_H_
#define CORDON_SANDBOX_SRC_RESOURCE_LIMITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/profile.h"
#include "plan.h"

namespace cordon::internal {

// What can hold a limit on the number of processes.
enum class ProcessBound : std::uint8_t {
  kWatch,          // The supervisor, which looks at the tree.
  kCount,          // The same, and above the limit nothing more can be made (ForkLimit).
  kUserNamespace,  // RLIMIT_NPROC, in the sandbox's own user namespace (user_namespaces(7), Linux
                   // 5.14). It never binds the initial namespace's uid 0 (getrlimit(2)).
  kPidNamespace,   // `SandboxPlan::process_limit`.
  kCgroup,         // pids.max of a cgroup of the tree's own, which holds the other limits, too.
};

struct CompiledLimits {
  std::vector<ResourceLimit> limits;
  std::uint64_t process_limit = 0;      // See `SandboxPlan`.
  std::uint64_t counted_processes = 0;  // Of `kCount`; 0: none.
  TreeLimits watched;
  // At least one limit is set, and each bounds the whole tree: the `resource_limits` guarantee.
  bool whole_tree = false;
  std::vector<ReportEntry> entries;
};

[[nodiscard]] CompiledLimits CompileLimits(const Limits& limits, ProcessBound bound);

// Whether a cgroup would hold something that `bound` and the supervisor only look after.
[[nodiscard]] bool GainsByCgroup(const Limits& limits, ProcessBound bound);

// The best bound for commands of the namespaces tier. For root a pid namespace is tried out, once
// per process and in a launcher of its own (`fallback_directory`: see `Launcher::Start`).
[[nodiscard]] ProcessBound BoundInNamespaces(const Limits& limits,
                                             const std::string& fallback_directory);

// The best bound for commands of the landlock tier. `mediates`: their calls are handed over.
[[nodiscard]] ProcessBound BoundOnHost(bool mediates);

// What ended a tree, as an entry for the report of its run. Not for `kNone`.
[[nodiscard]] ReportEntry EndedByEntry(TreeLimit limit);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_RESOURCE_LIMITS_H_
