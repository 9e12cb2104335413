// The sandbox's pid 1: reaps, passes signals on, and ends everything when the command has ended,
// when its deadline has come or when nobody listens any more.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SUPERVISOR_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SUPERVISOR_H_

#include <cstdint>

#include "launcher/outcome.h"
#include "tree_limits.h"

namespace cordon::launcher {

// What a supervisor holds open.
struct SupervisorDescriptors {
  int channel = -1;
  int launcher = -1;  // Its pidfd.
  int cpu_time = -1;  // cpu.stat of the tree's cgroup, where it has one.
};

struct Supervised {
  SupervisorDescriptors held;
  int command = 0;  // pid
  std::uint64_t started_microseconds = 0;
  // Whether this is pid 1 of a namespace; else a subreaper, which looks for its descendants.
  bool is_init = true;
  // Whether who loses its parent in the tree becomes a child of this process whatever it does: pid
  // 1 of a namespace, or a subreaper of processes that cannot enter the pid namespace of others
  // (setns(2), which Landlock and the filter refuse). Nothing is left then when it has no child.
  bool keeps_orphans = true;
  internal::TreeLimits limits;
};

// Moves them to where the supervisor looks for them and closes all others, before it is known
// whether the command runs: nothing has to wait for that then. Returns an errno, with which it may
// hold none of them any more.
[[nodiscard]] int HoldForSupervision(SupervisorDescriptors* descriptors);

// Reports the start, and at last the end. All signals are blocked.
[[noreturn]] void Supervise(const Supervised& supervised);

// Says on `channel` that the set-up failed.
void ReportFailure(int channel, const Outcome& outcome);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SUPERVISOR_H_
