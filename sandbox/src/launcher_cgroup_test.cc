// Trees in a cgroup of their own, at the launcher's side: works without any controller.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cordon/sdk/digest.h"
#include "launcher.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

// A new cgroup below this program's own, or below the root of the hierarchy.
class NewCgroup {
 public:
  NewCgroup() {
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      constexpr long kCgroup2Magic = 0x63677270;
      struct statfs kind = {};
      if (statfs(mount, &kind) != 0 || kind.f_type != kCgroup2Magic) continue;
      std::ifstream own("/proc/self/cgroup");
      for (std::string line; std::getline(own, line);) {
        if (line.rfind("0::", 0) == 0) path_ = mount + line.substr(3);
      }
      path_ += "/cordon-test-" + RandomId();
      if (mkdir(path_.c_str(), 0755) == 0) {
        folder_ = UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      }
    }
  }
  ~NewCgroup() {
    for (const char* below : {"/1/2", "/1", ""}) (void)rmdir((path_ + below).c_str());
  }

  [[nodiscard]] int fd() const { return folder_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string Read(const char* name) const {
    std::ostringstream text;
    text << std::ifstream(path_ + "/" + name).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
  UniqueFd folder_;
};

#define NEEDS_A_CGROUP(cgroup)                                                            \
  const NewCgroup cgroup;                                                                 \
  if ((cgroup).fd() < 0 || !StartedLauncherOrFail()->CheckCgroup((cgroup).fd()).ok()) {   \
    CORDON_SKIP("cgroup", "no cgroup of version 2 can be made below this program's own"); \
  }

SpawnPlace PlaceIn(int cgroup) {
  SpawnPlace place;
  place.cgroup = cgroup;
  return place;
}

Ran RunIn(const NewCgroup& cgroup, const SandboxPlan& plan, const std::string& text) {
  return Run(*StartedLauncherOrFail(), plan, Shell(text), PlaceIn(cgroup.fd()));
}

TEST_CASE("a tree starts in its cgroup, sees none above it, and is gone from it at its end") {
  NEEDS_NAMESPACES();
  NEEDS_A_CGROUP(cgroup);
  const Ran ran =
      RunIn(cgroup, SystemPlan(), "grep ^0:: /proc/self/cgroup; grep ^0:: /proc/1/cgroup");
  REQUIRE(ran.exit_code() == 0);
  CHECK(ran.output == "0::/\n0::/\n");
  CHECK(ran.tree_ended);
  CHECK(cgroup.Read("cgroup.procs").empty());
}

TEST_CASE("without namespaces a tree is in its cgroup as a whole, too") {
  NEEDS_A_CGROUP(cgroup);
  SandboxPlan plan;
  plan.confined = false;
  plan.namespaces = false;
  plan.host_network = true;
  const std::string name = std::filesystem::path(cgroup.path()).filename();
  const Ran ran = RunIn(cgroup, plan, "setsid sh -c 'grep ^0:: /proc/self/cgroup'");
  REQUIRE(ran.exit_code() == 0);
  INFO(ran.output);
  CHECK(ran.output.find(name + "\n") != std::string::npos);
  CHECK(cgroup.Read("cgroup.procs").empty());
}

TEST_CASE("a limit on processor time counts what the cgroup counts, from the command on") {
  NEEDS_NAMESPACES();
  NEEDS_A_CGROUP(cgroup);
  SandboxPlan plan = SystemPlan();
  plan.watched.cpu_microseconds = 300'000;
  CHECK(RunIn(cgroup, plan, "true").exit_code() == 0);
  const Ran over = RunIn(cgroup, plan, "while :; do :; done");
  REQUIRE(over.events.size() == 2);
  CHECK(over.events[1].ended_by == TreeLimit::kCpuTime);
  // The second one in it had as much as the first.
  CHECK(over.events[1].cpu_microseconds >= 250'000);
}

TEST_CASE("a cgroup that is no cgroup is refused, and nothing is started") {
  const TemporaryFolder folder;
  const UniqueFd plain(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK_FALSE(StartedLauncherOrFail()->CheckCgroup(plain.get()).ok());
  const Ran ran =
      Run(*StartedLauncherOrFail(), SystemPlan(), Shell("echo ran"), PlaceIn(plain.get()));
  CHECK_FALSE(ran.status.ok());
  CHECK(ran.output.empty());
}

TEST_CASE("the cgroup that a launcher was given is removed when its host hangs up by dying") {
  NEEDS_A_CGROUP(cgroup);
  REQUIRE(mkdir((cgroup.path() + "/1").c_str(), 0755) == 0);
  REQUIRE(mkdir((cgroup.path() + "/1/2").c_str(), 0755) == 0);
  const TemporaryFolder folder;
  const pid_t host = fork();
  if (host == 0) {
    const auto launcher = Launcher::Start(folder.path());
    const UniqueFd scratch(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool owned = launcher.ok() && (*launcher)->OwnFolder(scratch.get(), "none").ok() &&
                       (*launcher)->OwnCgroup(cgroup.fd(), "1").ok();
    if (owned) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(host, &status, 0) == host);
  REQUIRE(WIFSIGNALED(status));
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (std::filesystem::exists(cgroup.path() + "/1") &&
         std::chrono::steady_clock::now() < deadline) {
    (void)poll(nullptr, 0, 10);
  }
  CHECK_FALSE(std::filesystem::exists(cgroup.path() + "/1"));
}

}  // namespace
}  // namespace cordon::internal::testing
