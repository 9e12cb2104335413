// The processes below this one, as /proc shows them.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_DESCENDANTS_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_DESCENDANTS_H_

#include <cstdint>

namespace cordon::launcher {

struct TreeUse {
  std::uint64_t threads = 0;
  // User and system time, also of the children that were waited for; in steps of 10 ms a process.
  std::uint64_t cpu_microseconds = 0;
};

// Sends `signal` to every descendant that /proc shows now.
void SignalDescendants(int signal);

// Of all of them together.
[[nodiscard]] TreeUse MeasureDescendants();

// The anonymous and shared memory that they hold together, swapped out or not; what several share
// counts once. To be called after `MeasureDescendants`, for what that has found. `limit` spares the
// exact look where a coarse one stays below it.
[[nodiscard]] std::uint64_t MemoryOfDescendants(std::uint64_t limit);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_DESCENDANTS_H_
