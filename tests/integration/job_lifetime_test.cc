// What of background jobs ends with their registry, their program and their sandbox, and what
// stays.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "cordon/bash/process_registry.h"
#include "integration/support/gated_sandbox.h"
#include "integration/support/jobs.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::size_t Threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST_CASE("closing ends every job, and nothing of it stays behind") {
  const std::size_t descriptors_before = OpenDescriptors();
  {
    Jobs jobs;
    const std::string mark = SleepMark();
    // With the first command the set has its observing thread, however many follow.
    (void)jobs.Start("sleep " + mark);
    const std::size_t threads = Threads();
    const std::size_t descriptors = OpenDescriptors();
    for (int i = 0; i < 5; ++i) {
      (void)jobs.Start("trap '' TERM; setsid sleep " + mark + " & sleep " + mark);
    }
    CHECK(Threads() == threads);
    // What each holds, and a table of the host's that is looked at from the second command on.
    CHECK(OpenDescriptors() <= descriptors + 5 * 9 + 1);
    CHECK(jobs.registry->Close().ok());
    CHECK(ProcessesWith(mark).empty());
    CHECK(Threads() == threads - 1);
    CHECK(CodeOf(jobs.TryStart("true").status()) == "closed");
    jobs.registry.reset();
  }
  CHECK(OpenDescriptors() == descriptors_before);
}

TEST_CASE("a temporary registry removes its folder, and the next one what a killed one left") {
  const Ground ground;
  const std::string parent = ground.MakeFolder(ground.outside() + "/parent");
  {
    const auto registry = ProcessRegistry::OpenTemporary(parent);
    REQUIRE(registry.ok());
    CHECK_FALSE(fs::is_empty(parent));
    CHECK((*registry)->Close().ok());
    CHECK(fs::is_empty(parent));
  }
  const pid_t child = fork();
  if (child == 0) {
    const auto registry = ProcessRegistry::OpenTemporary(parent);
    _exit(registry.ok() ? 0 : 1);  // Without closing.
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK_FALSE(fs::is_empty(parent));
  const auto next = ProcessRegistry::OpenTemporary(parent);
  REQUIRE(next.ok());
  CHECK((*next)->Close().ok());
  CHECK(fs::is_empty(parent));
}

TEST_CASE("after a restart what ran is lost, its output is there, and no process is signalled") {
  const Ground ground;
  const std::string folder = ground.outside() + "/jobs";
  int ready[2];
  REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
  const pid_t host = fork();
  if (host == 0) {
    GatedSandbox sandbox([](ProfileConfig& config) { config.command = Access::kAllow; });
    ProcessRegistryOptions options;
    options.folder = folder;
    auto registry = ProcessRegistry::Open(std::move(options));
    if (!registry.ok()) _exit(1);
    auto job = (*registry)->Start(
        kOwner, sandbox.shared_executor(),
        Command::Shell("echo before; sleep 30", sandbox.ground().workspace()), {});
    if (!job.ok()) _exit(2);
    while ((*registry)->Find(kOwner, job->handle)->output_bytes == 0) {
      (void)(*registry)->Wait(kOwner, {job->handle}, WaitFor::kOutput,
                              steady_clock::now() + milliseconds(100));
    }
    (void)!write(ready[1], job->handle.data(), job->handle.size());
    pause();
    _exit(3);
  }
  close(ready[1]);
  std::string handle(4 + kJobHandleDigits, ' ');
  const ssize_t got = read(ready[0], handle.data(), handle.size());
  close(ready[0]);
  CHECK(got == static_cast<ssize_t>(handle.size()));
  REQUIRE(kill(host, SIGKILL) == 0);
  REQUIRE(waitpid(host, nullptr, 0) == host);

  ProcessRegistryOptions options;
  options.folder = folder;
  auto registry = ProcessRegistry::Open(std::move(options));
  REQUIRE(registry.ok());
  const auto job = (*registry)->Find(kOwner, handle);
  REQUIRE(job.ok());
  CHECK(job->state == JobState::kLost);
  CHECK(job->command == "echo before; sleep 30");
  const auto output = (*registry)->Read(kOwner, handle, 0, kMuch);
  CHECK(output->bytes == "before\n");
  CHECK(output->at_end);
  CHECK((*registry)->Stop(kOwner, handle)->state == JobState::kLost);
  CHECK(CodeOf((*registry)->WriteInput(kOwner, handle, "x", Soon()).status()) == "closed");
  CHECK(CodeOf((*registry)->Find("you", handle).status()) == "not_found");
}

TEST_CASE("an executor set that closes ends the jobs in it, and the registry tells so") {
  Jobs jobs;
  const std::string job = jobs.Start("sleep 30");
  CHECK(jobs.sandbox.set().Close().ok());
  CHECK(jobs.Ended(job).outcome->kind == Outcome::Kind::kCancelled);
}

}  // namespace
}  // namespace cordon::test
