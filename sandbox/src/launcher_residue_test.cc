// What a dead host's commands must not leave behind, and what is nobody's residue.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "descriptor_message.h"
#include "launcher.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

enum class End { kTidied, kNotTidied, kWaiting, kHandedOver };

// Whether it was begun without a command, and then got one if `end` says so, and has ended.
bool RunsInPrepared(Launcher& launcher, std::uint32_t id, End end, PreparedSandbox& kept) {
  auto prepared = launcher.Prepare(id);
  if (!prepared.ok() || !WaitReadable(prepared->channel.get())) return false;
  if (end == End::kHandedOver) {
    // What cannot be read ends it.
    prepared->run.Begin();
    if (SendMessage(prepared->channel.get(), "no command", {}, {}) != 0) return false;
  }
  kept = *std::move(prepared);
  return true;
}

// In a process of its own: runs two commands of one plan, in the middle of which nothing may be
// left under the name `absent`, tidies up after the first, and after the second if `end` says so;
// or makes a sandbox for the second that waits for it. Makes a file of that name after that, and
// waits to be killed.
[[noreturn]] void Host(const TemporaryFolder& folder, const std::string& absent, End end,
                       int ready) {
  const auto launcher = StartedLauncherOrFail();
  const UniqueFd parent(open(folder.path().c_str(), O_PATH | O_CLOEXEC));
  if (!launcher->OwnFolder(parent.get(), "own").ok()) _exit(1);
  SandboxPlan plan = SystemPlan();
  plan.absent = {absent};
  const auto id = launcher->AddPlan(plan);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const bool is_prepared = end == End::kWaiting || end == End::kHandedOver;
  PreparedSandbox kept;
  for (int i = 0; i < 2; ++i) {
    if (i == 1 && is_prepared) {
      if (!RunsInPrepared(*launcher, *id, end, kept)) _exit(1);
      break;
    }
    auto spawned =
        launcher->Spawn(*id, Shell("true"), null.get(), null.get(), null.get(), SpawnPlace());
    if (!spawned.ok() || !WaitReadable(spawned->pidfd.get())) _exit(1);
    if (i == 0 || end == End::kTidied) spawned->run.Tidied();
  }
  std::ofstream(absent) << "mine";
  (void)!write(ready, "r", 1);
  for (;;) pause();
}

// Whether a file that is made after the last command is there when the launcher has tidied up.
bool StaysAfterDeath(End end) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "own");
  const std::string absent = folder / "absent";
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) Host(folder, absent, end, writer.get());
  writer.Reset();
  char byte = 0;
  REQUIRE(WaitReadable(reader.get()));
  REQUIRE(read(reader.get(), &byte, 1) == 1);
  REQUIRE(kill(host, SIGKILL) == 0);
  REQUIRE(waitpid(host, nullptr, 0) == host);
  // Its folder goes last.
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (std::filesystem::exists(folder / "own")) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
  return std::filesystem::exists(absent);
}

TEST_CASE("what appears under an absent name while a sandbox waits for its command is left alone") {
  NEEDS_NAMESPACES();
  CHECK_FALSE(StaysAfterDeath(End::kHandedOver));
  CHECK(StaysAfterDeath(End::kWaiting));
}

TEST_CASE("what appears under an absent name after a command was tidied up after is left alone") {
  NEEDS_NAMESPACES();
  CHECK_FALSE(StaysAfterDeath(End::kNotTidied));
  CHECK(StaysAfterDeath(End::kTidied));
}

}  // namespace
}  // namespace cordon::internal::testing
