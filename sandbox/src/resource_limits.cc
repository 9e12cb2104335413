#include "resource_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_format.h"
#include "command_tree.h"
#include "launcher.h"

namespace cordon::internal {
namespace {

// pid 1 of the sandbox counts as one of its user's processes.
constexpr std::uint64_t kOwnProcesses = 1;

// What several that start at once, or end while they are counted, may be beyond a limit before the
// whole tree is ended for it.
std::uint64_t BackstopRoom(std::uint64_t processes) {
  return std::max<std::uint64_t>(processes / 4, 8);
}

std::string Watched(const char* what) {
  return absl::StrFormat("the supervisor looks %d times a second and ends a tree that has more %s",
                         kTreeLooksPerSecond, what);
}

// Adds one limit to `compiled`. An entry is `kEnforced` where it bounds the whole tree.
void AddMemory(std::uint64_t bytes, ProcessBound bound, CompiledLimits& compiled) {
  if (bound == ProcessBound::kCgroup) {
    compiled.entries.push_back(
        {"limits.memory", FeatureStatus::kEnforced,
         "cgroup v2: memory.max of the whole tree, with shared memory, files of memory and what "
         "the kernel keeps for it, and no swap (memory.swap.max); a tree that needs more is ended "
         "(memory.oom.group)"});
    return;
  }
  compiled.limits.push_back({RLIMIT_AS, bytes});
  compiled.watched.memory_bytes = bytes;
  compiled.entries.push_back(
      {"limits.memory", FeatureStatus::kNarrowed,
       "each process by the size of its address space (RLIMIT_AS); their sum: " +
           Watched("anonymous and shared memory") +
           ", so that for a moment there can be more, and what is in files of memory that no "
           "process has mapped does not count"});
}

void AddProcesses(std::uint64_t processes, ProcessBound bound, CompiledLimits& compiled) {
  switch (bound) {
    case ProcessBound::kWatch:
      compiled.watched.threads = processes;
      compiled.entries.push_back(
          {"limits.processes", FeatureStatus::kNarrowed,
           Watched("threads") + ", so that for a moment there can be more: RLIMIT_NPROC does not "
                                "bind root, and outside of a user namespace it counts every "
                                "process of this user"});
      return;
    case ProcessBound::kCount:
      compiled.counted_processes = processes;
      compiled.watched.threads = processes + BackstopRoom(processes);
      compiled.entries.push_back(
          {"limits.processes", FeatureStatus::kNarrowed,
           absl::StrFormat("the supervisor counts the command's threads when another one is to be "
                           "made, and above the limit that fails with EAGAIN; a tree that gets "
                           "past it all the same, to more than %d, is ended",
                           compiled.watched.threads)});
      return;
    case ProcessBound::kUserNamespace:
      compiled.limits.push_back({RLIMIT_NPROC, processes + kOwnProcesses});
      compiled.entries.push_back({"limits.processes", FeatureStatus::kEnforced,
                                  "RLIMIT_NPROC in the sandbox's own user namespace; threads "
                                  "count"});
      return;
    case ProcessBound::kCgroup:
      compiled.entries.push_back({"limits.processes", FeatureStatus::kEnforced,
                                  "cgroup v2: pids.max of the whole tree; threads count"});
      return;
    case ProcessBound::kPidNamespace:
      compiled.process_limit = processes;
      compiled.entries.push_back({"limits.processes", FeatureStatus::kEnforced,
                                  "the process numbers of the sandbox's own pid namespace "
                                  "(kernel.pid_max); threads count"});
      return;
  }
}

void AddCpuTime(std::chrono::milliseconds time, ProcessBound bound, CompiledLimits& compiled) {
  auto seconds = std::chrono::ceil<std::chrono::seconds>(time);
  const bool counted = bound == ProcessBound::kCgroup;
  // Of one process alone; a little later, so that it is the tree's limit that ends it and is named.
  if (counted) ++seconds;
  compiled.limits.push_back({RLIMIT_CPU, static_cast<std::uint64_t>(seconds.count())});
  compiled.watched.cpu_microseconds =
      static_cast<std::uint64_t>(std::chrono::microseconds(time).count());
  if (counted) {
    compiled.entries.push_back(
        {"limits.cpu_time", FeatureStatus::kEnforced,
         "cgroup v2: cpu.stat counts for the whole tree; " + Watched("processor time")});
    return;
  }
  compiled.entries.push_back(
      {"limits.cpu_time", FeatureStatus::kNarrowed,
       "each process in whole seconds (RLIMIT_CPU); their sum: " + Watched("processor time") +
           "; a process whose end its parent ignores counts only while it lives"});
}

// The limit is inherited and cannot be raised without capabilities, so it holds in every process.
void AddFileSize(std::uint64_t bytes, CompiledLimits& compiled) {
  compiled.limits.push_back({RLIMIT_FSIZE, bytes});
  compiled.entries.push_back({"limits.file_size", FeatureStatus::kEnforced,
                              "no process can make a file larger (RLIMIT_FSIZE)"});
}

bool KeepsOwnProcessLimit(const std::string& fallback_directory) {
  const absl::StatusOr<std::shared_ptr<Launcher>> launcher = Launcher::Start(fallback_directory);
  if (!launcher.ok()) return false;
  const bool keeps = (*launcher)->CheckProcessLimit().ok();
  (*launcher)->Stop();
  return keeps;
}

}  // namespace

CompiledLimits CompileLimits(const Limits& limits, ProcessBound bound) {
  CompiledLimits compiled;
  if (limits.memory_bytes.has_value()) AddMemory(*limits.memory_bytes, bound, compiled);
  if (limits.processes.has_value()) AddProcesses(*limits.processes, bound, compiled);
  if (limits.cpu_time.has_value()) AddCpuTime(*limits.cpu_time, bound, compiled);
  if (limits.file_size_bytes.has_value()) AddFileSize(*limits.file_size_bytes, compiled);
  if (compiled.entries.empty()) {
    compiled.entries.push_back({"limits", FeatureStatus::kUnenforced, "the profile sets no limit"});
    return compiled;
  }
  compiled.whole_tree = std::all_of(
      compiled.entries.begin(), compiled.entries.end(),
      [](const ReportEntry& entry) { return entry.status == FeatureStatus::kEnforced; });
  if (compiled.whole_tree) return compiled;
  for (ReportEntry& entry : compiled.entries) {
    // One guarantee speaks for all limits: without it none may be called enforced.
    if (entry.status != FeatureStatus::kEnforced) continue;
    entry.status = FeatureStatus::kNarrowed;
    entry.detail += "; other limits of this profile do not hold for the whole tree";
  }
  return compiled;
}

bool GainsByCgroup(const Limits& limits, ProcessBound bound) {
  return limits.memory_bytes.has_value() || limits.cpu_time.has_value() ||
         (limits.processes.has_value() &&
          (bound == ProcessBound::kWatch || bound == ProcessBound::kCount));
}

ProcessBound BoundInNamespaces(const Limits& limits, const std::string& fallback_directory) {
  if (geteuid() != 0 || !limits.processes.has_value()) return ProcessBound::kUserNamespace;
  static const bool keeps = KeepsOwnProcessLimit(fallback_directory);
  return keeps ? ProcessBound::kPidNamespace : ProcessBound::kWatch;
}

ProcessBound BoundOnHost(bool mediates) {
  return mediates && CommandTree::CanBeListed() ? ProcessBound::kCount : ProcessBound::kWatch;
}

ReportEntry EndedByEntry(TreeLimit limit) {
  const auto entry = [](const char* what, const char* option) {
    return ReportEntry{"limits.ended_by", FeatureStatus::kNarrowed,
                       absl::StrFormat("the command was ended, since its processes together had "
                                       "more %s than its limit; %s allows more",
                                       what, option)};
  };
  switch (limit) {
    case TreeLimit::kNone:
      break;
    case TreeLimit::kProcesses:
      return entry("threads", "--pids");
    case TreeLimit::kMemory:
      return entry("memory", "--memory");
    case TreeLimit::kCpuTime:
      return entry("processor time", "--cpu-time");
  }
  return entry("of something", "the profile");
}

}  // namespace cordon::internal
