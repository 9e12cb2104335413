// Nothing of the program that uses the library is within reach of what it runs: its environment,
// memory, descriptors, signal dispositions, processes.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "integration/support/child.h"
#include "integration/support/cordon_run.h"
#include "integration/support/gated_sandbox.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

// Looks for a word in everything that /proc shows of any process but itself. The word is joined
// from two halves, so that it does not find itself.
constexpr const char* kSearch = R"(
import os, sys
word = (sys.argv[1] + sys.argv[2]).encode()
looked = 0
def found(kind, pid):
    print("FOUND in", kind, "of", pid)
for pid in [n for n in os.listdir("/proc") if n.isdigit() and int(n) != os.getpid()]:
    if len(sys.argv) > 3 and pid != sys.argv[3]:
        continue
    base = "/proc/" + pid
    for kind in "environ", "cmdline", "maps", "auxv":
        try:
            data = open(base + "/" + kind, "rb").read()
        except OSError:
            continue
        looked += 1
        if word in data:
            found(kind, pid)
    try:
        for fd in os.listdir(base + "/fd"):
            if word.decode() in os.readlink(base + "/fd/" + fd):
                found("fd", pid)
    except OSError:
        pass
    try:
        memory = open(base + "/mem", "rb", 0)
        for line in open(base + "/maps"):
            fields = line.split()
            if not fields[1].startswith("rw"):
                continue
            low, high = (int(x, 16) for x in fields[0].split("-"))
            try:
                memory.seek(low)
                if word in memory.read(min(high - low, 64 << 20)):
                    found("mem", pid)
                    break
            except (OSError, ValueError):
                pass
    except OSError:
        pass
print("processes looked at:", looked > 0)
)";

// A program of the host: the sandbox's user. It has the word in its memory, in the name of a file
// that it holds open, and in a variable.
class HostProgram {
 public:
  HostProgram()
      : word(first + second),
        sandbox([](ProfileConfig& config) { config.command = Access::kAllow; }) {
    sandbox.ground().MakeFile("search.py", kSearch);
    held_.Reset(
        open(sandbox.ground().MakeFile(sandbox.ground().outside() + "/" + word, "x").c_str(),
             O_RDONLY));  // Without O_CLOEXEC, as careless programs do.
    REQUIRE(held_.valid());
    // Allows the control to look at this program, where the system restricts tracing.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  }

  std::string Inside(const std::string& text) {
    const auto run = sandbox.Run(Command::Shell(text, sandbox.ground().workspace()), "e1", {});
    INFO(run.status());
    REQUIRE(run.ok());
    INFO(run->standard_error.head);
    CHECK(run->outcome.code == 0);
    return run->standard_output.head;
  }

  const std::string first = "SECRET-of-";
  const std::string second = "the-host-" + std::to_string(getpid());
  const std::string word;
  GatedSandbox sandbox;

 private:
  UniqueFd held_;
};

TEST_CASE("a command finds nothing of the host program in any file of /proc") {
  HostProgram host;
  const std::string search = "python3 search.py '" + host.first + "' '" + host.second + "'";
  const std::string control =
      host.sandbox.ground().RunUnconfined(search + " " + std::to_string(getpid())).out;
  CHECK(Has(control, "FOUND in fd of " + std::to_string(getpid())));
  CHECK(Has(control, "FOUND in mem of " + std::to_string(getpid())));
  const std::string out = host.Inside(search);
  INFO(out);
  CHECK(Has(out, "processes looked at: True"));
  CHECK_FALSE(Has(out, "FOUND"));
}

TEST_CASE("the first process inside shows neither environment nor memory of the caller") {
  HostProgram host;
  const std::string out = host.Inside(
      "cat /proc/1/environ /proc/1/cmdline 2>/dev/null | tr '\\0' '\\n'; "
      "dd if=/proc/1/mem bs=1 count=1 2>/dev/null && echo MEMORY; echo finished");
  INFO(out);
  CHECK(Has(out, "finished"));
  CHECK_FALSE(Has(out, "MEMORY"));
  CHECK_FALSE(Has(out, "PATH="));
  CHECK_FALSE(Has(out, "integration"));
}

TEST_CASE("no descriptor of the host program reaches a command") {
  HostProgram host;
  const std::string look = "ls -l /proc/self/fd | grep -c " + host.word;
  const Ended control = [&] {
    ChildOptions options;
    options.environment = host.sandbox.ground().environment();
    Child child({"/bin/sh", "-c", "ls -l /proc/$$/fd"}, options);
    return child.Finish();
  }();
  CHECK(Has(control.out, host.word));
  CHECK(host.Inside(look + " || true") == "0\n");
  CHECK(host.Inside("python3 -c 'import os; print(sorted(map(int, os.listdir(\"/proc/self/fd\")))"
                    "[:3], max(map(int, os.listdir(\"/proc/self/fd\"))) < 5)'") ==
        "[0, 1, 2] True\n");
}

TEST_CASE("signal dispositions and the mask of the host program do not reach a command") {
  HostProgram host;
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGRTMIN + 3);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const std::string out = host.Inside("grep -E '^Sig(Blk|Ign)' /proc/self/status");
  sigprocmask(SIG_SETMASK, &before, nullptr);
  signal(SIGUSR1, SIG_DFL);
  CHECK(out == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("a command does not see the host program and cannot signal it") {
  HostProgram host;
  const std::string pid = std::to_string(getpid());
  const std::string act = "kill -0 " + pid + " && echo SIGNALLED; test -d /proc/" + pid +
                          "/fd && readlink /proc/" + pid + "/exe; echo finished";
  CHECK(Has(host.sandbox.ground().RunUnconfined(act).out, "SIGNALLED"));
  const std::string out = host.Inside(act);
  INFO(out);
  // The number may belong to a process inside, which is then no secret.
  CHECK_FALSE(Has(out, "integration"));
  CHECK(Has(out, "finished"));
  const int seen = std::atoi(host.Inside("ls -d /proc/[0-9]* | wc -l").c_str());
  CHECK(seen < 10);
}

}  // namespace
}  // namespace cordon::test
