// A limit on the threads of one pid namespace, kept by the kernel, that binds root, too: the
// namespace has a largest process number of its own (kernel.pid_max, since Linux 6.14), and numbers
// below 300 are not given out again once a larger one was (RESERVED_PIDS, kernel/pid.c).

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_LIMIT_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_LIMIT_H_

#include <cstdint>

#include "launcher/identity.h"

namespace cordon::launcher {

// By pid 1 of a namespace that has no other process yet, while it has the capabilities of a new
// user namespace: at most `count` threads beside its own from now on. 0: no limit. Only where
// `CheckProcessLimit` went well: before Linux 6.14 real root would change the host's own setting.
// Returns an errno.
[[nodiscard]] int LimitProcesses(std::uint64_t count);

// Whether that is a setting of the namespace here, found in namespaces that are thrown away.
// `identity` is the caller's, real root's. Returns an errno.
[[nodiscard]] int CheckProcessLimit(const Identity& identity);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_LIMIT_H_
