// Whether a command's tree keeps to its limits, as far as looking at it now and then can tell.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_TREE_WATCH_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_TREE_WATCH_H_

#include <cstdint>

#include "tree_limits.h"

namespace cordon::launcher {

using internal::TreeLimit;
using internal::TreeLimits;

class TreeWatch {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  // `cpu_time`: the open cpu.stat of a cgroup of the tree's own, whose kernel counts for it and
  // holds its other limits; negative: the tree's processes are looked at. Borrowed.
  // To be made when the command begins.
  TreeWatch(const TreeLimits& limits, int cpu_time);

  // When to look next, in the time of NowMicroseconds(); kNever without limits.
  [[nodiscard]] std::uint64_t next() const { return next_; }

  // Looks, if it is time to. Returns the first limit that was found exceeded, and that from then on
  // whenever it is time again, so that what was not ended yet is ended again.
  [[nodiscard]] TreeLimit Look();

  // The limit that was found exceeded.
  [[nodiscard]] TreeLimit exceeded() const { return exceeded_; }

 private:
  [[nodiscard]] TreeLimit Measure() const;

  const TreeLimits limits_;
  const int cpu_time_;
  const std::uint64_t cpu_before_;  // What the cgroup had used for the set-up of the sandbox.
  std::uint64_t next_ = kNever;
  TreeLimit exceeded_ = TreeLimit::kNone;
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_TREE_WATCH_H_
