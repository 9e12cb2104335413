#include "launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cordon/sdk/status.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

CommandPlan Argv(std::vector<std::string> argv) {
  CommandPlan command = Shell("");
  command.argv = std::move(argv);
  return command;
}

TEST_CASE("a command runs, its output and its exit code come back, and the tree ends") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), "echo hello; exit 7");
  REQUIRE(ran.status.ok());
  REQUIRE(ran.events.size() == 2);
  CHECK(ran.events[0].kind == SpawnEvent::Kind::kStarted);
  CHECK(ran.output == "hello\n");
  CHECK(ran.exit_code() == 7);
  CHECK(ran.events[1].wall_microseconds > 0);
  CHECK(ran.events[1].max_rss_bytes > 0);
  CHECK(ran.tree_ended);
}

TEST_CASE("a death by signal comes back as one") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), "kill -SEGV $$");
  REQUIRE(ran.events.size() == 2);
  CHECK(WIFSIGNALED(ran.events[1].wait_status));
  CHECK(WTERMSIG(ran.events[1].wait_status) == SIGSEGV);
}

TEST_CASE("processor time is that of the whole tree") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), "(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done) & wait");
  REQUIRE(ran.exit_code() == 0);
  CHECK(ran.events[1].cpu_microseconds > 10000);
}

TEST_CASE("a command gets descriptors 0, 1 and 2 and no other") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  // Open in the host, also across exec: the control is that a child of the host has it.
  const UniqueFd open_in_host(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  REQUIRE(open_in_host.valid());
  const std::string probe = "[ -e /proc/self/fd/" + std::to_string(open_in_host.get()) + " ]";
  CHECK(std::system(probe.c_str()) == 0);
  const Ran ran = Run(SystemPlan(), "cd /proc/self/fd && echo *; " + probe + " && echo LEAK");
  // The shell's own reading of the folder is one more while it lasts.
  CHECK((ran.output == "0 1 2\n" || ran.output == "0 1 2 3\n"));
}

TEST_CASE("signals are neither blocked nor ignored, whatever the host has done") {
  NEEDS_NAMESPACES();
  sigset_t all;
  sigfillset(&all);
  sigset_t before;
  REQUIRE(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
  void (*const pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
  void (*const child_before)(int) = signal(SIGCHLD, SIG_IGN);
  const Ran ran = Run(SystemPlan(), Argv({"/bin/cat", "/proc/self/status"}));
  signal(SIGCHLD, child_before);
  signal(SIGPIPE, pipe_before);
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  CHECK(ran.exit_code() == 0);
  CHECK(Field(ran.output, "SigBlk") == "0000000000000000");
  CHECK(Field(ran.output, "SigIgn") == "0000000000000000");
  CHECK(Field(ran.output, "SigPnd") == "0000000000000000");
}

TEST_CASE("a command has the host's user, no capability in any set and no way to gain one") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(), Argv({"/bin/cat", "/proc/self/status"}));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    INFO(set);
    CHECK(Field(ran.output, set) == "0000000000000000");
  }
  CHECK(Field(ran.output, "NoNewPrivs") == "1");
  const std::string uid = std::to_string(geteuid());
  CHECK(Field(ran.output, "Uid") == uid + "\t" + uid + "\t" + uid + "\t" + uid);
  const std::string gid = std::to_string(getegid());
  CHECK(Field(ran.output, "Gid") == gid + "\t" + gid + "\t" + gid + "\t" + gid);
  if (geteuid() == 0) CHECK(Field(ran.output, "Groups").empty());
}

TEST_CASE("nothing of the host's memory, environment or files is behind the sandbox's pid 1") {
  NEEDS_NAMESPACES();
  const Ran ran = Run(SystemPlan(),
                      "for f in environ mem maps fd/0 exe cwd root/etc; do "
                      "head -c 1 /proc/1/$f >/dev/null 2>&1 && echo REACHED $f; done; "
                      "tr '\\0' ' ' </proc/1/cmdline; ls /proc | grep -c '^[0-9]'");
  CHECK(ran.output.find("REACHED") == std::string::npos);
  CHECK(ran.output.rfind("cordon-launcher ", 0) == 0);
}

std::string HostsLargestProcessNumber() {
  std::ifstream file("/proc/sys/kernel/pid_max");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("a pid namespace's own limit binds root, and the host's stays as it is") {
  NEEDS_NAMESPACES();
  const std::string before = HostsLargestProcessNumber();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  const absl::Status keeps = launcher->CheckProcessLimit();
  CHECK(HostsLargestProcessNumber() == before);
  if (!keeps.ok()) CORDON_SKIP("pid-limit", std::string(keeps.message()));
  SandboxPlan plan = SystemPlan();
  const std::string act = std::string("exec 2>&1; ") + "i=0; while [ $i -lt 60 ]; do i=$((i+1)); " +
                          "sleep 15 & echo made; done; wait";
  plan.process_limit = 30;
  const Ran ran = Run(*launcher, plan, Shell(act + "; echo all"));
  CHECK(ran.output.find("all") == std::string::npos);
  CHECK(std::count(ran.output.begin(), ran.output.end(), '\n') <= 31);
  CHECK(std::count(ran.output.begin(), ran.output.end(), '\n') >= 28);
  plan.process_limit = 100;
  const Ran within = Run(*launcher, plan, Shell("sleep 0 & sleep 0 & wait; echo all"));
  CHECK(within.output == "all\n");
  CHECK(HostsLargestProcessNumber() == before);
}

TEST_CASE("the supervisor ends a tree that has more than it may, and says of what") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  std::string act;
  TreeLimit by = TreeLimit::kNone;
  SECTION("threads") {
    plan.watched.threads = 8;
    act = "for i in 1 2 3 4 5 6 7 8 9; do sleep 15 & done; wait; echo over";
    by = TreeLimit::kProcesses;
  }
  SECTION("memory") {
    plan.watched.memory_bytes = 60 << 20;
    act = "for i in 1 2 3; do (head -c 30m /dev/zero; sleep 15) | tail -c 30m & done; wait";
    by = TreeLimit::kMemory;
  }
  SECTION("processor time") {
    plan.watched.cpu_microseconds = 200'000;
    act = "for i in 1 2 3; do (while :; do :; done) & done; wait; echo over";
    by = TreeLimit::kCpuTime;
  }
  const Ran ran = Run(plan, act);
  REQUIRE(ran.events.size() == 2);
  CHECK(WIFSIGNALED(ran.events[1].wait_status));
  CHECK(ran.events[1].ended_by == by);
  CHECK(ran.output.find("over") == std::string::npos);
  const Ran within = Run(plan, "sleep 0.2 & head -c 9m /dev/zero | tail -c 9m >/dev/null; wait");
  CHECK(within.exit_code() == 0);
  CHECK(within.events[1].ended_by == TreeLimit::kNone);
}

TEST_CASE("limits are set, and never above what the host has") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  plan.limits = {{RLIMIT_NOFILE, 77}, {RLIMIT_CORE, 0}, {RLIMIT_STACK, RLIM_INFINITY}};
  rlimit stack;
  REQUIRE(getrlimit(RLIMIT_STACK, &stack) == 0);
  const Ran ran = Run(plan, "ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hs");
  const std::string hard =
      stack.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(stack.rlim_max / 1024);
  CHECK(ran.output == "77\n77\n0\n" + hard + "\n");
}

TEST_CASE(
    "the network is the sandbox's own, with its loopback up, unless the plan says otherwise") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  const std::string interfaces =
      "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
      "cat /sys/class/net/lo/flags 2>/dev/null; readlink /proc/self/ns/net";
  const Ran own = Run(plan, interfaces);
  CHECK(own.output.rfind("lo\n", 0) == 0);
  plan.host_network = true;
  const Ran shared = Run(plan, "readlink /proc/self/ns/net");
  const std::string host = std::filesystem::read_symlink("/proc/self/ns/net").string() + "\n";
  CHECK(shared.output == host);
  CHECK(own.output.find(host) == std::string::npos);
}

TEST_CASE("the host name is the plan's") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  plan.host_name = "workbench";
  CHECK(Run(plan, "uname -n").output == "workbench\n");
}

TEST_CASE("a command that cannot be executed fails at that step, with its errno") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  std::ofstream(folder / "plain") << "echo ran\n";
  std::ofstream(folder / "garbage") << std::string("\177ELF garbage");
  std::filesystem::permissions(folder / "garbage", std::filesystem::perms::all);
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), true));
  const auto error_of = [&plan](const std::string& name) {
    const Ran ran = Run(plan, Argv({name}));
    const SpawnEvent* failure = ran.failure();
    REQUIRE(failure != nullptr);
    CHECK(failure->step == Step::kExec);
    CHECK(ran.tree_ended);
    return failure->error_number;
  };
  CHECK(error_of("no-such-program") == ENOENT);
  CHECK(error_of("/no/such/program") == ENOENT);
  CHECK(error_of("") == ENOENT);
  CHECK(error_of("/etc") == EACCES);
  CHECK(error_of(folder / "plain") == EACCES);
}

TEST_CASE("a program is looked up in the PATH of its own environment, in the view") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  std::ofstream(folder / "tool") << "#!/bin/sh\necho found \"$1\"\n";
  std::filesystem::permissions(folder / "tool", std::filesystem::perms::all);
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), true));
  CommandPlan command = Argv({"tool", "it"});
  command.environment = {"PATH=/nowhere", "PATH=/nowhere:" + folder.path()};
  CHECK(Run(plan, command).output == "found it\n");
  command.environment = {};
  const Ran without = Run(plan, command);
  REQUIRE(without.failure() != nullptr);
  CHECK(without.failure()->error_number == ENOENT);
  // Found but not to be executed is another answer than not found.
  std::filesystem::permissions(folder / "tool", std::filesystem::perms::owner_read);
  command.environment = {"PATH=/nowhere:" + folder.path()};
  const Ran refused = Run(plan, command);
  REQUIRE(refused.failure() != nullptr);
  CHECK(refused.failure()->error_number == EACCES);
}

TEST_CASE("a script without an interpreter line is run by the shell") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  std::ofstream(folder / "script") << "echo \"$0\" \"$@\"\n";
  std::filesystem::permissions(folder / "script", std::filesystem::perms::all);
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), true));
  CHECK(Run(plan, Argv({folder / "script", "a b", "c"})).output ==
        (folder / "script") + " a b c\n");
}

TEST_CASE("a missing working directory is a failure of that step") {
  NEEDS_NAMESPACES();
  CommandPlan command = Shell("true");
  command.working_directory = "/not/there";
  const Ran ran = Run(SystemPlan(), command);
  REQUIRE(ran.failure() != nullptr);
  CHECK(ran.failure()->step == Step::kWorkingDirectory);
  CHECK(ran.failure()->error_number == ENOENT);
  CHECK(std::string(ran.failure()->detail) == "/not/there");
}

TEST_CASE("arguments and environment arrive byte for byte, also many of them") {
  NEEDS_NAMESPACES();
  CommandPlan command = Argv({"/bin/sh", "-c", "printf '%s|' \"$@\" | cksum; env | wc -c", "sh"});
  std::string joined;
  for (int i = 0; i < 3000; ++i) {
    command.argv.push_back("argument \n\t\xff' " + std::to_string(i));
    joined += command.argv.back() + "|";
  }
  const Ran large = Run(SystemPlan(), command);  // Beyond what goes inline.
  CHECK(large.exit_code() == 0);
  const TemporaryFolder folder;
  std::ofstream(folder / "expected") << joined;
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), true));
  const Ran expected = Run(plan, "cksum <" + (folder / "expected"));
  CHECK(large.output.substr(0, large.output.find('\n')) ==
        expected.output.substr(0, expected.output.find('\n')));
}

TEST_CASE("text with a NUL byte is refused instead of being cut") {
  CommandPlan command = Argv({"/bin/echo", std::string("a\0b", 3)});
  const Ran ran = Run(SystemPlan(), command);
  CHECK_FALSE(ran.status.ok());
}

TEST_CASE("the file mode mask is the one that the host had") {
  NEEDS_NAMESPACES();
  const mode_t before = umask(027);
  const Ran ran = Run(SystemPlan(), "umask");
  umask(before);
  CHECK(ran.output == "0027\n");
}

TEST_CASE("no descriptor of the host is left behind") {
  NEEDS_NAMESPACES();
  const auto count = [] {
    const std::filesystem::directory_iterator list("/proc/self/fd");
    return std::distance(begin(list), end(list));
  };
  const auto before = count();
  for (int i = 0; i < 3; ++i) {
    (void)Run(SystemPlan(), "true");
    (void)Run(SystemPlan(), Argv({"no-such-program"}));
  }
  CHECK(count() == before);
}

TEST_CASE("plans come and go, and a removed one is refused") {
  NEEDS_NAMESPACES();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 20; ++i) {
    const auto id = launcher->AddPlan(SystemPlan());
    REQUIRE(id.ok());
    CHECK(std::count(ids.begin(), ids.end(), *id) == 0);
    ids.push_back(*id);
  }
  for (const std::uint32_t id : ids) launcher->RemovePlan(id);
  CHECK_FALSE(launcher->Spawn(ids[0], Shell("true"), 0, 1, 2).ok());
  CHECK_FALSE(launcher->Spawn(123456, Shell("true"), 0, 1, 2).ok());
  CHECK(Run(*launcher, SystemPlan(), Shell("exit 3")).exit_code() == 3);
}

TEST_CASE("a stopped launcher says so") {
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  launcher->Stop();
  launcher->Stop();
  const auto id = launcher->AddPlan(SystemPlan());
  CHECK(Is(id.status(), ErrorCode::kUnavailable));
}

}  // namespace
}  // namespace cordon::internal::testing
