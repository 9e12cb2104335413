// Landlock and seccomp as the launcher loads them, each with the same act where it is missing.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "landlock_abi.h"
#include "launcher.h"
#include "sandbox_testing.h"
#include "seccomp_program.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

constexpr std::uint64_t kRead = kLandlockReadFile | kLandlockReadDir | kLandlockExecute;

// A plan whose Landlock rules allow everything but writing to /data, which is `folder` and which
// its view allows. (Not below /tmp, where another rule would grant it.)
SandboxPlan ReadOnlyByLandlock(const std::string& folder) {
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder, false));
  plan.view.back().target = "/data";
  plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
  for (const char* path : {"/usr", "/etc", "/proc", "/bin", "/lib", "/lib64", "/sbin"}) {
    plan.landlock_rules.push_back({path, kRead, false});
    if (std::filesystem::is_symlink(path)) plan.landlock_rules.pop_back();
  }
  plan.landlock_rules.push_back({"/dev", plan.landlock_handled_fs, false});
  plan.landlock_rules.push_back({"/tmp", plan.landlock_handled_fs, false});
  plan.landlock_rules.push_back({"/data", kRead, false});
  return plan;
}

TEST_CASE("Landlock refuses what its rules do not grant, though the view would allow it") {
  NEEDS_NAMESPACES();
  if (QueryLandlockAbi() == 0) CORDON_SKIP("landlock", "this kernel has none");
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "text\n";
  const std::string attack =
      "cd /data && cat file; echo x >new && echo WROTE; "
      "rm file && echo REMOVED; echo y >/tmp/y && cat /tmp/y; "
      "echo z >/dev/null && echo null";
  SandboxPlan plan = ReadOnlyByLandlock(folder.path());
  CHECK(Run(plan, attack + " 2>/dev/null").output.find("WROTE") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
  CHECK(std::filesystem::exists(folder / "file"));
  CommandPlan granted = Shell(attack);
  granted.extra_landlock_rules = {{"/data", plan.landlock_handled_fs, false}};
  CHECK(Run(plan, granted).output == "text\nWROTE\nREMOVED\ny\nnull\n");
}

TEST_CASE("a rule for a file and a rule for what is missing") {
  NEEDS_NAMESPACES();
  if (QueryLandlockAbi() == 0) CORDON_SKIP("landlock", "this kernel has none");
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "text\n";
  SandboxPlan plan = ReadOnlyByLandlock(folder.path());
  // The rights that only folders have are left out, or the kernel would refuse the rule.
  plan.landlock_rules.push_back({"/data/file", plan.landlock_handled_fs, false});
  plan.landlock_rules.push_back({"/data/missing", kRead, true});
  CHECK(Run(plan, "echo more >>/data/file; cat /data/file").output == "text\nmore\n");
  plan.landlock_rules.back().optional = false;
  const Ran ran = Run(plan, "true");
  REQUIRE(ran.failure() != nullptr);
  CHECK(ran.failure()->step == Step::kLandlock);
  CHECK(std::string(ran.failure()->detail) == "/data/missing");
}

TEST_CASE("without namespaces Landlock and seccomp hold by themselves") {
  if (QueryLandlockAbi() == 0) CORDON_SKIP("landlock", "this kernel has none");
  const TemporaryFolder folder;
  SandboxPlan plan;
  plan.namespaces = false;
  plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
  plan.landlock_scoped = LandlockScopesOf(QueryLandlockAbi());
  plan.landlock_rules = {{"/", kRead, false}, {"/dev/null", plan.landlock_handled_fs, false}};
  const auto program = CompileSeccompProgram();
  REQUIRE(program.ok());
  plan.seccomp_program = *program;
  const std::string attack = "(echo x >" + (folder / "new") +
                             ") 2>/dev/null && echo WROTE; "
                             "kill -0 " +
                             std::to_string(getpid()) +
                             " 2>/dev/null && echo SIGNAL; "
                             "grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/self/status; "
                             "setsid sleep 1000 & exit 3";
  const Ran ran = Run(plan, attack);
  CHECK(ran.output.rfind("CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n", 0) == 0);
  CHECK(ran.exit_code() == 3);
  CHECK(ran.tree_ended);
  plan.confined = false;  // The control.
  const Ran control = Run(plan, attack);
  CHECK(control.output.rfind("WROTE\nSIGNAL\n", 0) == 0);
  CHECK(control.tree_ended);
}

SandboxPlan Filtered() {
  SandboxPlan plan = SystemPlan();
  const auto program = CompileSeccompProgram();
  REQUIRE(program.ok());
  plan.seccomp_program = *program;
  return plan;
}

TEST_CASE("a command runs under the filter and cannot make namespaces") {
  NEEDS_NAMESPACES();
  if (access("/usr/bin/unshare", X_OK) != 0) CORDON_SKIP("unshare", "it is not installed");
  const std::string text =
      "grep '^Seccomp:' /proc/self/status; "
      "unshare -U true 2>/dev/null && echo MADE; echo end";
  CHECK(Run(Filtered(), text).output == "Seccomp:\t2\nend\n");
  CHECK(Run(SystemPlan(), text).output == "Seccomp:\t0\nMADE\nend\n");
}

TEST_CASE("a bad filter is a failure of that step") {
  NEEDS_NAMESPACES();
  SandboxPlan plan = SystemPlan();
  plan.seccomp_program = std::string(8 * 3, '\xff');
  const Ran ran = Run(plan, "true");
  REQUIRE(ran.failure() != nullptr);
  CHECK(ran.failure()->step == Step::kSeccomp);
  CHECK(ran.failure()->error_number == EINVAL);
  plan.seccomp_program.pop_back();
  CHECK(Run(plan, "true").failure() != nullptr);
}

TEST_CASE("ordinary programs work under the filter") {
  NEEDS_NAMESPACES();
  const std::string shell =
      "set -e; echo a | cat; (sleep 0 & wait); echo $(echo b); ls / >/dev/null; "
      "mkfifo /tmp/f; cat </tmp/f & echo c >/tmp/f; wait";
  CHECK(Run(Filtered(), shell).output == "a\nb\nc\n");
  if (access("/usr/bin/python3", X_OK) == 0) {
    const Ran ran =
        Run(Filtered(),
            "python3 -c \"import multiprocessing as m, socket, threading, asyncio\n"
            "s = m.Semaphore(2); s.acquire()\n"
            "print(m.Pool(2).map(abs, [1, -1]))\n"
            "a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\n"
            "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
            "socket.create_server(('127.0.0.1', 0)); print('server')\"");
    CHECK(ran.output == "[1, 1]\nb'x'\nthread\nserver\n");
  }
  if (access("/usr/bin/node", X_OK) == 0) {
    const Ran ran = Run(Filtered(),
                        "node -e \"const c = require('child_process'); "
                        "console.log(c.execSync('echo out').toString().trim()); "
                        "require('fs').promises.readFile('/etc/hostname').then(() => "
                        "console.log('read'))\"");
    CHECK(ran.output == "out\nread\n");
  }
}

}  // namespace
}  // namespace cordon::internal::testing
