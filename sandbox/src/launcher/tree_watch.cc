#include "launcher/tree_watch.h"

#include <linux/resource.h>

#include "launcher/cgroup.h"
#include "launcher/descendants.h"
#include "launcher/fd.h"
#include "launcher/process_state.h"

namespace cordon::launcher {
namespace {

constexpr std::uint64_t kInterval = 1'000'000 / internal::kTreeLooksPerSecond;

std::uint64_t TimeOfReaped() {
  rusage usage = {};
  if (ErrorOf(Call(__NR_getrusage, RUSAGE_CHILDREN, &usage)) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace

TreeWatch::TreeWatch(const TreeLimits& limits, int cpu_time)
    : limits_(limits),
      cpu_time_(cpu_time),
      cpu_before_(cpu_time < 0 ? 0 : CpuMicroseconds(cpu_time)) {
  if (limits != TreeLimits{}) next_ = NowMicroseconds() + kInterval;
}

TreeLimit TreeWatch::Look() {
  if (next_ == kNever || NowMicroseconds() < next_) return TreeLimit::kNone;
  if (exceeded_ == TreeLimit::kNone) exceeded_ = Measure();
  // From the end of this look, so that one that takes long leaves time for everything else.
  next_ = NowMicroseconds() + kInterval;
  return exceeded_;
}

TreeLimit TreeWatch::Measure() const {
  if (cpu_time_ >= 0) {
    const std::uint64_t used = CpuMicroseconds(cpu_time_) - cpu_before_;
    return limits_.cpu_microseconds != 0 && used > limits_.cpu_microseconds ? TreeLimit::kCpuTime
                                                                            : TreeLimit::kNone;
  }
  const TreeUse use = MeasureDescendants();
  if (limits_.threads != 0 && use.threads > limits_.threads) return TreeLimit::kProcesses;
  if (limits_.cpu_microseconds != 0 &&
      use.cpu_microseconds + TimeOfReaped() > limits_.cpu_microseconds) {
    return TreeLimit::kCpuTime;
  }
  if (limits_.memory_bytes != 0 &&
      MemoryOfDescendants(limits_.memory_bytes) > limits_.memory_bytes) {
    return TreeLimit::kMemory;
  }
  return TreeLimit::kNone;
}

}  // namespace cordon::launcher
