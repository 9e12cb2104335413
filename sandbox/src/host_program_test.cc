// What the program that uses cordon does with its own children, signals and forks must neither
// disturb executors nor be disturbed by them.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "deadline_poll.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::kDeadline;
using testing::ProcessesWith;
using testing::ReadUntil;
using testing::SandboxFixture;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

// Sets a signal's disposition for as long as it lives.
class Disposition {
 public:
  Disposition(int signal, void (*handler)(int), int flags = 0) : signal_(signal) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    REQUIRE(sigaction(signal, &action, &before_) == 0);
  }
  Disposition(const Disposition&) = delete;
  Disposition& operator=(const Disposition&) = delete;
  ~Disposition() { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ = {};
};

volatile std::sig_atomic_t g_children_signalled = 0;
void CountChild(int) { g_children_signalled = g_children_signalled + 1; }

// No process may have `mark` any more; what was killed needs a moment to be gone.
bool GoneSoon(const std::string& mark) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + kDeadline;
  while (ProcessesWith(mark) > 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_CASE("a host that ignores SIGCHLD, or has others reap for it, still gets every result") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  SECTION("ignored") {
    const Disposition ignored(SIGCHLD, SIG_IGN);
    CHECK(fixture.Shell("exit 7").outcome.code == 7);
  }
  SECTION("no zombies wanted") {
    const Disposition no_wait(SIGCHLD, SIG_DFL, SA_NOCLDWAIT);
    CHECK(fixture.Shell("exit 7").outcome.code == 7);
  }
}

TEST_CASE("a host sees no child, no SIGCHLD and no zombie of cordon's, and keeps its own") {
  CORDON_NEED_NAMESPACES();
  const pid_t child = fork();
  if (child == 0) _exit(9);
  REQUIRE(child > 0);
  siginfo_t info = {};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  g_children_signalled = 0;
  {
    const Disposition counted(SIGCHLD, CountChild);
    SandboxFixture fixture;
    for (int i = 0; i < 3; ++i) CHECK(fixture.Shell("exit 7").outcome.code == 7);
    CHECK(fixture.set().Close().ok());
  }
  CHECK(g_children_signalled == 0);
  // The child is still there to be waited for, and it is the only one.
  int status = 0;
  CHECK(waitpid(-1, &status, __WALL) == child);
  CHECK(WEXITSTATUS(status) == 9);
  CHECK(waitpid(-1, &status, __WALL) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("a host that waits for any child all the time takes nothing away") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  (void)fixture.executor();
  std::atomic<bool> stop = false;
  std::atomic<int> taken = 0;
  std::thread reaper([&] {
    while (!stop) taken += waitpid(-1, nullptr, __WALL | WNOHANG) > 0 ? 1 : 0;
  });
  for (int i = 0; i < 10; ++i) CHECK(fixture.Shell("exit 7").outcome.code == 7);
  stop = true;
  reaper.join();
  CHECK(taken == 0);
}

TEST_CASE("a forked copy of the host that holds every descriptor keeps no sandbox alive") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::string mark = "35.0" + std::to_string(getpid());
  const absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared =
      fixture.executor()->PrepareProcess(
          Command::Shell("setsid sleep " + mark + " & echo ready; sleep " + mark,
                         fixture.workspace()),
          {});
  REQUIRE(prepared.ok());
  absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  REQUIRE(process.ok());
  UniqueFd output = (*process)->TakeStandardOutput();
  CHECK(ReadUntil(output.get(), "ready"));
  const pid_t copy = fork();
  if (copy == 0) {
    pause();
    _exit(0);
  }
  REQUIRE(copy > 0);
  SECTION("closed by the original") { CHECK((*process)->Close().ok()); }
  SECTION("the whole set closed") { CHECK(fixture.set().Close().ok()); }
  CHECK(ProcessesWith(mark) == 0);
  kill(copy, SIGKILL);
  CHECK(waitpid(copy, nullptr, 0) == copy);
}

// Runs a command with `mark` in a new process, the leader of a group of its own, and kills that
// process without warning. Returns the group, in which a forked copy may be left.
pid_t KillHostOf(const SandboxFixture& fixture, const std::string& mark, bool with_copy) {
  int ready[2];
  REQUIRE(pipe2(ready, O_CLOEXEC) == 0);
  const UniqueFd reader(ready[0]);
  UniqueFd writer(ready[1]);
  int forked[2];  // The command may be ready before its host has made the copy.
  REQUIRE(pipe2(forked, O_CLOEXEC) == 0);
  const UniqueFd forked_reader(forked[0]);
  const UniqueFd forked_writer(forked[1]);
  const pid_t host = fork();
  if (host == 0) {
    setpgid(0, 0);
    const absl::StatusOr<Profile> profile = Profile::Create(fixture.config);
    auto set = ExecutorSet::Create(*profile, fixture.options);
    if (!set.ok()) _exit(1);
    auto executor = (*set)->For("key");
    if (!executor.ok()) _exit(2);
    ProcessOptions options;
    options.standard_output = {StreamOption::Kind::kFd, writer.get()};
    auto prepared =
        (*executor)->PrepareProcess(Command::Shell("trap '' TERM HUP; (setsid sleep " + mark +
                                                       " &); echo x >$HOME/x; "
                                                       "echo ready; sleep " +
                                                       mark,
                                                   fixture.workspace()),
                                    options);
    if (!prepared.ok()) _exit(3);
    auto process = (*prepared)->Start();
    if (!process.ok()) _exit(4);
    if (with_copy && fork() == 0) {
      writer.Reset();
      alarm(60);  // Whatever becomes of the test.
      pause();
      _exit(0);
    }
    (void)!write(forked[1], "forked", 6);
    pause();
    _exit(5);
  }
  REQUIRE(host > 0);
  writer.Reset();
  CHECK(ReadUntil(reader.get(), "ready"));
  CHECK(ReadUntil(forked_reader.get(), "forked"));
  CHECK(ProcessesWith(mark) > 0);
  kill(host, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(host, &status, 0) == host);
  CHECK(WIFSIGNALED(status));
  return host;
}

TEST_CASE("a host that is killed leaves nothing running, and nothing on the disk") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::string mark = "36.0" + std::to_string(getpid());
  (void)KillHostOf(fixture, mark, false);
  CHECK(GoneSoon(mark));
  // Whether the launcher or the next set removes what was left.
  CHECK(fixture.Shell("true").outcome.code == 0);
  CHECK(std::distance(fs::directory_iterator(fixture.scratch()), fs::directory_iterator()) == 1);
  CHECK(fixture.set().Close().ok());
  CHECK(fs::is_empty(fixture.scratch()));
}

TEST_CASE("a file that appears after the command is nobody's residue when the host is killed") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::string file = fixture.workspace() + "/.envrc";
  int ran[2];
  REQUIRE(pipe2(ran, O_CLOEXEC) == 0);
  const UniqueFd reader(ran[0]);
  UniqueFd writer(ran[1]);
  const pid_t host = fork();
  if (host == 0) {
    const absl::StatusOr<Profile> profile = Profile::Create(fixture.config);
    auto set = ExecutorSet::Create(*profile, fixture.options);
    if (!set.ok()) _exit(1);
    auto executor = (*set)->For("key");
    if (!executor.ok()) _exit(2);
    auto run = (*executor)->RunCommand(fixture.workspace(), "echo theirs >.envrc");
    // The control: while the command was there, the name was kept free.
    if (!run.ok() || fs::exists(file)) _exit(3);
    std::ofstream(file) << "mine";
    (void)!write(ran[1], "ran", 3);
    pause();
    _exit(4);
  }
  REQUIRE(host > 0);
  writer.Reset();
  CHECK(ReadUntil(reader.get(), "ran"));
  kill(host, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(host, &status, 0) == host);
  CHECK(WIFSIGNALED(status));
  // The launcher's last act, after it has removed what is residue.
  const SteadyTime deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!fs::is_empty(fixture.scratch()) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  CHECK(fs::is_empty(fixture.scratch()));
  CHECK(fs::exists(file));
}

TEST_CASE("a host that is killed leaves nothing running, although a forked copy of it lives on") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const std::string mark = "37.0" + std::to_string(getpid());
  const pid_t group = KillHostOf(fixture, mark, true);
  CHECK(GoneSoon(mark));
  CHECK(fixture.Shell("true").outcome.code == 0);
  CHECK(kill(-group, SIGKILL) == 0);  // The copy was there all the time.
}

}  // namespace
}  // namespace cordon::internal
