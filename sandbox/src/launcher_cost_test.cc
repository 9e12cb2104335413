// What a spawn costs, printed and not asserted: other work on the machine would fail it.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "landlock_abi.h"
#include "launcher.h"
#include "sandbox_testing.h"
#include "seccomp_program.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

constexpr int kRuns = 60;

template <typename Act>
double MedianMicroseconds(Act act) {
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    act();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

void SpawnBare() {
  char path[] = "/bin/true";
  char* argv[] = {path, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  REQUIRE(posix_spawn(&pid, path, nullptr, nullptr, argv, environment) == 0);
  REQUIRE(waitpid(pid, nullptr, 0) == pid);
}

class ConfinedSpawn {
 public:
  explicit ConfinedSpawn(bool host_network) {
    SandboxPlan plan = SystemPlan();
    plan.host_network = host_network;
    plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
    plan.landlock_scoped = LandlockScopesOf(QueryLandlockAbi());
    if (plan.landlock_handled_fs != 0) {
      plan.landlock_rules = {{"/", plan.landlock_handled_fs, false}};
    }
    plan.seccomp_program = CompileSeccompProgram().value();
    plan_ = launcher_->AddPlan(plan).value();
    command_.argv = {"/bin/true"};
  }
  void Once() {
    auto spawned = launcher_->Spawn(plan_, command_, null_.get(), null_.get(), null_.get());
    REQUIRE(spawned.ok());
    const std::vector<SpawnEvent> events = ReadEvents(spawned->channel.get());
    REQUIRE(events.size() == 2);
    REQUIRE(WaitReadable(spawned->pidfd.get()));
  }

 private:
  const std::shared_ptr<Launcher> launcher_ = StartedLauncherOrFail();
  const UniqueFd null_{open("/dev/null", O_RDWR | O_CLOEXEC)};
  std::uint32_t plan_ = 0;
  CommandPlan command_ = Shell("");
};

TEST_CASE("a confined spawn costs a small multiple of a bare one, and the same in a large caller") {
  NEEDS_NAMESPACES();
  ConfinedSpawn own(false);
  ConfinedSpawn shared(true);
  const double bare = MedianMicroseconds(SpawnBare);
  const double with_network = MedianMicroseconds([&own] { own.Once(); });
  const double without = MedianMicroseconds([&shared] { shared.Once(); });
  std::vector<char> ballast(std::size_t{1} << 30, 'x');
  const double large = MedianMicroseconds([&own] { own.Once(); });
  CHECK(ballast.back() == 'x');
  std::cout << "posix_spawn of /bin/true: " << bare << " us\n"
            << "confined: " << with_network << " us, " << with_network / bare << " x\n"
            << "confined, host network: " << without << " us, " << without / bare << " x\n"
            << "confined, caller with 1 GiB: " << large / with_network << " x the small caller\n";
}

}  // namespace
}  // namespace cordon::internal::testing
