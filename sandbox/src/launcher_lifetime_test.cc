// How trees end, and that they end when the host does.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>

#include "descriptor_message.h"
#include "landlock_abi.h"
#include "launcher.h"
#include "launcher_start.h"
#include "sandbox_testing.h"
#include "seccomp_program.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

using std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  UniqueFd reader;
  UniqueFd writer;
};

// A command that goes on until something ends it. `output` closes when the last process of the tree
// has ended, since nobody else holds its other end.
struct Running {
  SpawnedSandbox sandbox;
  UniqueFd output;
};

// Returns once the command has written a line.
Running Begin(Launcher& launcher, const SandboxPlan& plan, const std::string& shell_text) {
  Pipe pipe;
  const auto id = launcher.AddPlan(plan);
  REQUIRE(id.ok());
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  auto spawned = launcher.Spawn(*id, Shell(shell_text), null.get(), pipe.writer.get(), null.get());
  launcher.RemovePlan(*id);
  if (!spawned.ok()) FAIL(spawned.status());
  pipe.writer.Reset();
  REQUIRE(WaitReadable(pipe.reader.get()));
  char line[64];
  REQUIRE(read(pipe.reader.get(), line, sizeof(line)) > 0);
  return {*std::move(spawned), std::move(pipe.reader)};
}

void Send(const Running& running, const SpawnControl& control) {
  REQUIRE(send(running.sandbox.channel.get(), &control, sizeof(control), MSG_NOSIGNAL) ==
          sizeof(control));
}

// Children in sessions of their own, of which some ignore what can be ignored.
constexpr char kStubborn[] =
    "(trap '' TERM HUP INT; setsid sleep 1000 & exec sleep 1000) & setsid sleep 1000 & "
    "echo ready; exec sleep 1000";

TEST_CASE("what a command leaves behind ends with it") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), "setsid sleep 1000 & sleep 1000 & exit 4");
  CHECK(ran.exit_code() == 4);
  CHECK(ran.tree_ended);
}

TEST_CASE("pid 1 says that nothing is left when everybody else has ended") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), "sleep 1000 & setsid sleep 1000 & exit 3");
  REQUIRE(ran.events.size() == 2);
  CHECK(ran.exit_code() == 3);
  CHECK(ran.events[1].left_running == 1);
  CHECK(ran.events[1].nothing_left == 1);
}

TEST_CASE("SIGTERM reaches every process of the tree") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const Running running = Begin(*launcher, SystemPlan(),
                                "(trap 'echo inner; exit' TERM; echo ready; sleep 1000 & wait) & "
                                "trap 'wait; echo outer; exit 5' TERM; wait");
  Send(running, {SIGTERM, 0});
  const std::string output = ReadAll(running.output.get());
  CHECK(output.find("outer") != std::string::npos);
  CHECK(output.find("inner") != std::string::npos);
  const auto events = ReadEvents(running.sandbox.channel.get());
  REQUIRE(events.size() == 2);
  CHECK(WEXITSTATUS(events[1].wait_status) == 5);
}

TEST_CASE("SIGKILL ends the whole tree and is reported with what was used") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const Running running = Begin(*launcher, SystemPlan(), kStubborn);
  Send(running, {SIGKILL, 0});
  const auto events = ReadEvents(running.sandbox.channel.get());
  REQUIRE(events.size() == 2);
  CHECK(WIFSIGNALED(events[1].wait_status));
  CHECK(WTERMSIG(events[1].wait_status) == SIGKILL);
  CHECK(events[1].max_rss_bytes > 0);
  CHECK(WaitReadable(running.sandbox.pidfd.get()));
  CHECK(ReadAll(running.output.get()).empty());
}

TEST_CASE("pid 1 escalates by itself once the time that it was given is over") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const Running running = Begin(*launcher, SystemPlan(), kStubborn);
  const auto start = steady_clock::now();
  Send(running, {0, 200});
  Send(running, {0, 100000});  // The first deadline stands.
  const auto events = ReadEvents(running.sandbox.channel.get());
  REQUIRE(events.size() == 2);
  CHECK(WTERMSIG(events[1].wait_status) == SIGKILL);
  const auto waited = steady_clock::now() - start;
  CHECK(waited >= std::chrono::milliseconds(190));
  CHECK(waited < std::chrono::seconds(5));
}

TEST_CASE("closing the channel ends the tree") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  Running running = Begin(*launcher, SystemPlan(), kStubborn);
  running.sandbox.channel.Reset();
  CHECK(WaitReadable(running.sandbox.pidfd.get()));
  CHECK(ReadAll(running.output.get()).empty());
}

TEST_CASE("stopping the launcher ends every tree") {
  NEEDS_NAMESPACES();
  const auto launcher = StartedLauncherOrFail();
  const Running first = Begin(*launcher, SystemPlan(), kStubborn);
  const Running second = Begin(*launcher, SystemPlan(), kStubborn);
  launcher->Stop();
  for (const Running* running : {&first, &second}) {
    CHECK(WaitReadable(running->sandbox.pidfd.get()));
    CHECK(ReadAll(running->output.get()).empty());
  }
}

TEST_CASE("a tree ends within two seconds when the host is killed, also with a fork of it left") {
  NEEDS_NAMESPACES();
  Pipe output;
  Pipe ready;
  const pid_t host = fork();
  REQUIRE(host >= 0);
  if (host == 0) {
    const auto launcher = StartedLauncherOrFail();
    const auto id = launcher->AddPlan(SystemPlan());
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    auto spawned =
        launcher->Spawn(*id, Shell(kStubborn), null.get(), output.writer.get(), null.get());
    // Holds copies of the sockets to the launcher and to pid 1.
    const pid_t bystander = fork();
    if (bystander == 0) {
      output.writer.Reset();
      ready.writer.Reset();
      for (;;) pause();
    }
    (void)!write(ready.writer.get(), &bystander, sizeof(bystander));
    for (;;) pause();
  }
  output.writer.Reset();
  ready.writer.Reset();
  pid_t bystander = 0;
  REQUIRE(WaitReadable(ready.reader.get()));
  REQUIRE(read(ready.reader.get(), &bystander, sizeof(bystander)) == sizeof(bystander));
  REQUIRE(WaitReadable(output.reader.get()));
  char line[64];
  REQUIRE(read(output.reader.get(), line, sizeof(line)) > 0);

  const auto start = steady_clock::now();
  REQUIRE(kill(host, SIGKILL) == 0);
  CHECK(ReadAll(output.reader.get()).empty());
  CHECK(steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(kill(bystander, SIGKILL) == 0);
  CHECK(waitpid(host, nullptr, 0) == host);
}

TEST_CASE("the host's waiting for its children neither sees the launcher nor reaps it") {
  bool told = false;
  static bool* flag = nullptr;
  flag = &told;
  void (*const before)(int) = signal(SIGCHLD, [](int) { *flag = true; });
  const auto launcher = StartedLauncherOrFail();
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
  launcher->Stop();
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  signal(SIGCHLD, before);
  CHECK_FALSE(told);
}

TEST_CASE("where the host is a subreaper it reaps the launcher, and no zombie stays") {
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  const auto launcher = StartedLauncherOrFail();
  launcher->Stop();
  CHECK(waitpid(-1, nullptr, WNOHANG | __WALL) == -1);
  REQUIRE(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
}

TEST_CASE("without executable memory the program is started from a file, which is gone at once") {
  const TemporaryFolder folder;
  const auto started = StartLauncher(LauncherImage::kFile, folder.path());
  REQUIRE(started.ok());
  CHECK(access(folder.path().c_str(), F_OK) == 0);
  CHECK(rmdir(folder.path().c_str()) == 0);
  REQUIRE(syscall(SYS_pidfd_send_signal, started->pidfd.get(), 0, nullptr, 0) == 0);
  CHECK(syscall(SYS_pidfd_send_signal, started->pidfd.get(), SIGKILL, nullptr, 0) == 0);
  CHECK(WaitReadable(started->pidfd.get()));
  CHECK_FALSE(StartLauncher(LauncherImage::kFile, "/no/such/folder").ok());
}

TEST_CASE("unconfined, the supervisor ends what the command leaves behind") {
  SandboxPlan plan;
  plan.confined = false;
  const auto launcher = StartedLauncherOrFail();
  Running running = Begin(*launcher, plan,
                          "setsid sh -c 'sleep 1000 & sleep 1000' & echo ready; "
                          "exec sleep 1000");
  SECTION("when it is told to") {
    Send(running, {SIGKILL, 0});
    const auto events = ReadEvents(running.sandbox.channel.get());
    REQUIRE(events.size() == 2);
    CHECK(WTERMSIG(events[1].wait_status) == SIGKILL);
    CHECK(events[1].nothing_left == 0);  // It cannot know.
  }
  SECTION("when nobody listens any more") { running.sandbox.channel.Reset(); }
  SECTION("when the launcher ends") { launcher->Stop(); }
  CHECK(WaitReadable(running.sandbox.pidfd.get()));
  CHECK(ReadAll(running.output.get()).empty());
}

TEST_CASE("without namespaces nothing of a confined tree is left when its supervisor says so") {
  if (LandlockScopesOf(QueryLandlockAbi()) == 0) {
    CORDON_SKIP("landlock", "this kernel has no Landlock with scopes");
  }
  const TemporaryFolder folder;
  SandboxPlan plan;
  plan.namespaces = false;
  plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
  plan.landlock_scoped = LandlockScopesOf(QueryLandlockAbi());
  plan.landlock_rules = {{"/", plan.landlock_handled_fs, false}};
  plan.seccomp_program = CompileSeccompProgram().value();
  const auto launcher = StartedLauncherOrFail();
  const std::string file = folder / "pid";
  // In a session of its own, and with a parent that has ended.
  const Running running =
      Begin(*launcher, plan,
            "(setsid sh -c 'echo $$ >" + file + ".new; mv " + file + ".new " + file +
                "; exec sleep 1000' &); until [ -e " + file + " ]; do :; done; echo ready");
  SpawnEvent event;
  UniqueFd none;
  do {
    REQUIRE(WaitReadable(running.sandbox.channel.get()));
    REQUIRE(ReceiveMessage(running.sandbox.channel.get(), &event, sizeof(event), &none) ==
            sizeof(event));
  } while (event.kind == SpawnEvent::Kind::kStarted);
  REQUIRE(event.kind == SpawnEvent::Kind::kEnded);
  CHECK(event.left_running == 1);
  CHECK(event.nothing_left == 1);
  pid_t orphan = 0;
  std::ifstream(file) >> orphan;
  REQUIRE(orphan > 0);
  CHECK(kill(orphan, 0) == -1);
  CHECK(errno == ESRCH);
}

TEST_CASE("unconfined, the command sees the host but none of its descriptors and signal state") {
  SandboxPlan plan;
  plan.confined = false;
  plan.limits = {{/*RLIMIT_NOFILE*/ 7, 99}};
  CommandPlan command = Shell("");
  command.argv = {"/bin/sh", "-c", "echo $$; ulimit -n; grep -E '^Sig(Blk|Ign)' /proc/self/status"};
  const Ran ran = Run(plan, command);
  CHECK(ran.exit_code() == 0);
  CHECK(ran.output.find("\n99\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace cordon::internal::testing
