// Limits on a command's whole process tree that the supervisor holds by looking at it. Plain data
// that both the library and the launcher include.

#ifndef CORDON_SANDBOX_SRC_TREE_LIMITS_H_
#define CORDON_SANDBOX_SRC_TREE_LIMITS_H_

#include <cstdint>

namespace cordon::internal {

// How often the supervisor looks. A tree that has a limit is never looked at more often but when
// something else wakes the supervisor, and one that has none never.
inline constexpr std::uint64_t kTreeLooksPerSecond = 20;

// 0: no limit. A tree in which more is found is ended, and its SpawnEvent says by which.
struct TreeLimits {
  std::uint64_t threads = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_microseconds = 0;

  friend bool operator==(const TreeLimits&, const TreeLimits&) = default;
};

enum class TreeLimit : std::uint8_t { kNone, kProcesses, kMemory, kCpuTime };

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_TREE_LIMITS_H_
