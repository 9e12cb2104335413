#include "resource_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace cordon::internal {
namespace {

// pid 1 of the sandbox counts as one of its processes.
constexpr std::uint64_t kOwnProcesses = 1;

struct Limit {
  ResourceLimit resource_limit;
  ReportEntry entry;  // `kEnforced` where it bounds the whole tree.
};

Limit MemoryLimit(std::uint64_t bytes) {
  return {{RLIMIT_AS, bytes},
          {"limits.memory", FeatureStatus::kNarrowed,
           "the address space of each process is limited (RLIMIT_AS), not their sum: that needs a "
           "delegated cgroup with the memory controller"}};
}

Limit ProcessLimit(std::uint64_t processes, bool own_user_namespace, bool root) {
  const ResourceLimit limit{RLIMIT_NPROC, processes + kOwnProcesses};
  if (root) {
    return {limit,
            {"limits.processes", FeatureStatus::kUnenforced,
             "the kernel binds root by no process limit (RLIMIT_NPROC): run as an ordinary user"}};
  }
  if (!own_user_namespace) {
    return {limit,
            {"limits.processes", FeatureStatus::kNarrowed,
             "without a user namespace RLIMIT_NPROC counts every process of this user"}};
  }
  return {limit,
          {"limits.processes", FeatureStatus::kEnforced,
           "RLIMIT_NPROC in the sandbox's own user namespace; threads count"}};
}

Limit CpuLimit(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time);
  return {{RLIMIT_CPU, static_cast<std::uint64_t>(seconds.count())},
          {"limits.cpu_time", FeatureStatus::kNarrowed,
           "in whole seconds, for each process (RLIMIT_CPU), not for their sum"}};
}

// The limit is inherited and cannot be raised without capabilities, so it holds in every process.
Limit FileSizeLimit(std::uint64_t bytes) {
  return {{RLIMIT_FSIZE, bytes},
          {"limits.file_size", FeatureStatus::kEnforced,
           "no process can make a file larger (RLIMIT_FSIZE)"}};
}

}  // namespace

CompiledLimits CompileLimits(const Limits& limits, bool own_user_namespace, bool root) {
  std::vector<Limit> set;
  if (limits.memory_bytes.has_value()) set.push_back(MemoryLimit(*limits.memory_bytes));
  if (limits.processes.has_value()) {
    set.push_back(ProcessLimit(*limits.processes, own_user_namespace, root));
  }
  if (limits.cpu_time.has_value()) set.push_back(CpuLimit(*limits.cpu_time));
  if (limits.file_size_bytes.has_value()) set.push_back(FileSizeLimit(*limits.file_size_bytes));

  CompiledLimits compiled;
  compiled.whole_tree = !set.empty() && std::all_of(set.begin(), set.end(), [](const Limit& limit) {
    return limit.entry.status == FeatureStatus::kEnforced;
  });
  for (Limit& limit : set) {
    // One guarantee speaks for all limits: without it none may be called enforced.
    if (!compiled.whole_tree && limit.entry.status == FeatureStatus::kEnforced) {
      limit.entry.status = FeatureStatus::kNarrowed;
      limit.entry.detail += "; other limits of this profile do not hold for the whole tree";
    }
    compiled.limits.push_back(limit.resource_limit);
    compiled.entries.push_back(std::move(limit.entry));
  }
  if (set.empty()) {
    compiled.entries.push_back({"limits", FeatureStatus::kUnenforced, "the profile sets no limit"});
  }
  return compiled;
}

CompiledLimits CompileLimitsOnHost(const Limits& limits) {
  Limits others = limits;
  others.processes.reset();
  CompiledLimits compiled = CompileLimits(others, false, false);
  if (!limits.processes.has_value()) return compiled;
  const bool alone = others == Limits{};
  if (alone) compiled.entries.clear();  // "The profile sets no limit."
  compiled.whole_tree = false;
  for (ReportEntry& entry : compiled.entries) {
    if (entry.status == FeatureStatus::kEnforced) entry.status = FeatureStatus::kNarrowed;
  }
  compiled.watched_processes = *limits.processes;
  compiled.entries.push_back(
      {"limits.processes", FeatureStatus::kNarrowed,
       "the supervisor looks at the tree 20 times a second and kills it when there are more; for a "
       "moment there can be (RLIMIT_NPROC would count every process of this user)"});
  return compiled;
}

}  // namespace cordon::internal
