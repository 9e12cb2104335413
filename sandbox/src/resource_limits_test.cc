#include "resource_limits.h"

#include <sys/resource.h>

#include <algorithm>

#include "support/catch.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;

bool AnyEnforced(const CompiledLimits& compiled) {
  return std::any_of(
      compiled.entries.begin(), compiled.entries.end(),
      [](const ReportEntry& entry) { return entry.status == FeatureStatus::kEnforced; });
}

TEST_CASE("a profile without limits gets none, and the guarantee is not claimed") {
  const CompiledLimits compiled = CompileLimits({}, ProcessBound::kUserNamespace);
  CHECK(compiled.limits.empty());
  CHECK_FALSE(compiled.whole_tree);
  REQUIRE(compiled.entries.size() == 1);
  CHECK(compiled.entries[0].status == FeatureStatus::kUnenforced);
}

TEST_CASE("limits that hold for the whole tree carry the guarantee") {
  Limits limits;
  limits.processes = 40;
  limits.file_size_bytes = 1000;
  const CompiledLimits compiled = CompileLimits(limits, ProcessBound::kUserNamespace);
  CHECK(compiled.whole_tree);
  REQUIRE(compiled.limits.size() == 2);
  CHECK(compiled.limits[0].resource == RLIMIT_NPROC);
  CHECK(compiled.limits[0].value == 41);
  CHECK(compiled.limits[1].resource == RLIMIT_FSIZE);
}

TEST_CASE("one limit that holds per process only takes the guarantee from all") {
  Limits limits;
  limits.file_size_bytes = 1000;
  SECTION("memory") { limits.memory_bytes = 1 << 20; }
  SECTION("processor time") { limits.cpu_time = milliseconds(1500); }
  const CompiledLimits compiled = CompileLimits(limits, ProcessBound::kUserNamespace);
  CHECK(compiled.limits.size() == 2);
  CHECK_FALSE(compiled.whole_tree);
  CHECK_FALSE(AnyEnforced(compiled));
}

TEST_CASE("in a cgroup of the tree's own every limit is the kernel's, and each says by what") {
  Limits limits;
  limits.memory_bytes = 1 << 28;
  limits.processes = 40;
  limits.cpu_time = milliseconds(1500);
  limits.file_size_bytes = 1000;
  const CompiledLimits compiled = CompileLimits(limits, ProcessBound::kCgroup);
  CHECK(compiled.whole_tree);
  REQUIRE(compiled.entries.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(compiled.entries[i].status == FeatureStatus::kEnforced);
    CHECK(compiled.entries[i].detail.rfind("cgroup v2: ", 0) == 0);
  }
  // An address space may be larger than what is used of it, and nothing but time is looked after.
  for (const ResourceLimit& limit : compiled.limits) {
    CHECK((limit.resource == RLIMIT_CPU || limit.resource == RLIMIT_FSIZE));
  }
  CHECK(compiled.watched.threads == 0);
  CHECK(compiled.watched.memory_bytes == 0);
  CHECK(compiled.watched.cpu_microseconds == 1'500'000);
}

TEST_CASE("a cgroup is asked for only where it holds what nothing else does") {
  Limits limits;
  CHECK_FALSE(GainsByCgroup(limits, ProcessBound::kWatch));
  limits.file_size_bytes = 1000;
  CHECK_FALSE(GainsByCgroup(limits, ProcessBound::kWatch));
  limits.processes = 40;
  CHECK(GainsByCgroup(limits, ProcessBound::kWatch));
  CHECK(GainsByCgroup(limits, ProcessBound::kCount));
  CHECK_FALSE(GainsByCgroup(limits, ProcessBound::kUserNamespace));
  CHECK_FALSE(GainsByCgroup(limits, ProcessBound::kPidNamespace));
  SECTION("memory") { limits.memory_bytes = 1 << 28; }
  SECTION("processor time") { limits.cpu_time = milliseconds(1500); }
  CHECK(GainsByCgroup(limits, ProcessBound::kUserNamespace));
}

TEST_CASE("a process limit is claimed where the kernel holds it, not where it is looked after") {
  Limits limits;
  limits.processes = 40;
  CHECK(CompileLimits(limits, ProcessBound::kUserNamespace).whole_tree);
  const CompiledLimits numbered = CompileLimits(limits, ProcessBound::kPidNamespace);
  CHECK(numbered.whole_tree);
  CHECK(numbered.process_limit == 40);
  CHECK(numbered.watched == TreeLimits{});
  const CompiledLimits watched = CompileLimits(limits, ProcessBound::kWatch);
  CHECK_FALSE(watched.whole_tree);
  CHECK_FALSE(AnyEnforced(watched));
  CHECK(watched.limits.empty());
  CHECK(watched.watched.threads == 40);
}

TEST_CASE("memory and processor time are limited for each process, and watched for all") {
  Limits limits;
  limits.memory_bytes = 1 << 20;
  limits.cpu_time = milliseconds(1500);
  const CompiledLimits compiled = CompileLimits(limits, ProcessBound::kUserNamespace);
  CHECK(compiled.limits.size() == 2);
  CHECK(compiled.watched.memory_bytes == 1 << 20);
  CHECK(compiled.watched.cpu_microseconds == 1'500'000);
  CHECK(compiled.watched.threads == 0);
}

TEST_CASE("processor time is rounded up to whole seconds, never down to none") {
  Limits limits;
  limits.cpu_time = milliseconds(1);
  CHECK(CompileLimits(limits, ProcessBound::kUserNamespace).limits[0].value == 1);
}

}  // namespace
}  // namespace cordon::internal
