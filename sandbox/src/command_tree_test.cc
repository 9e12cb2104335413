#include "command_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>

#include "descriptor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;

TEST_CASE("the status of a process cannot be forged by its name") {
  const auto status = ParseProcessStatus(
      "Name:\tx\\nTgid:\t1\nUmask:\t0022\nState:\tR\nTgid:\t12\nNgid:\t0\nPid:\t13\nPPid:\t7\n"
      "Seccomp_filters:\t3\n");
  REQUIRE(status.has_value());
  CHECK(status->process == 12);
  CHECK(status->parent == 7);
  CHECK(status->filters == 3);
  CHECK(ParseProcessStatus("Name:\tx\nTgid:\t1\nPPid:\t0\n")->filters == -1);
  CHECK_FALSE(ParseProcessStatus("Name:\tx\nTgid:\t1\n").has_value());
  CHECK_FALSE(ParseProcessStatus("").has_value());
}

// Ends when the test does.
class Child {
 public:
  // Tells its own id and that of a child of its own.
  Child() {
    REQUIRE(pipe(pipe_.data()) == 0);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      const pid_t below = fork();
      if (below == 0) pause();
      (void)!write(pipe_[1], &below, sizeof below);
      pause();
    }
    REQUIRE(read(pipe_[0], &below_, sizeof below_) == sizeof below_);
    REQUIRE(below_ > 0);  // Else the destructor would end every process there is.
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    End();
    close(pipe_[0]);
    close(pipe_[1]);
  }
  void End() {
    if (pid_ <= 0) return;
    kill(below_, SIGKILL);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] pid_t below() const { return below_; }

 private:
  std::array<int, 2> pipe_ = {};
  pid_t pid_ = -1;
  pid_t below_ = -1;
};

UniqueFd PidfdOf(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

TEST_CASE("what belongs to a tree is what descends from its first process") {
  const DescriptorGuard guard;
  Child caller;
  const Child other;
  CommandTree tree;
  tree.Begin(PidfdOf(getpid()).get());
  const auto asking = HoldProcess(caller.pid());
  REQUIRE(asking.has_value());
  const auto kinship = [&](pid_t pid) { return tree.KinshipOf(*HoldProcess(pid), *asking); };
  CHECK(kinship(caller.pid()) == Kinship::kSelf);
  CHECK(kinship(caller.below()) == Kinship::kBelow);
  CHECK(kinship(other.pid()) == Kinship::kOther);
  CHECK(kinship(other.below()) == Kinship::kOther);
  CHECK(kinship(getpid()) == Kinship::kStranger);
  CHECK(kinship(getppid()) == Kinship::kStranger);
  CHECK(kinship(1) == Kinship::kStranger);

  CommandTree narrower;
  narrower.Begin(PidfdOf(caller.pid()).get());
  CHECK(narrower.KinshipOf(*HoldProcess(caller.below()), *asking) == Kinship::kOther);
  CHECK(narrower.KinshipOf(*HoldProcess(other.below()), *asking) == Kinship::kStranger);
  CHECK(narrower.KinshipOf(*HoldProcess(caller.pid()), *asking) == Kinship::kStranger);

  // What has ended is nobody's any more, and neither is a tree whose first process has.
  const auto held = HoldProcess(caller.below());
  const auto below_other = HoldProcess(other.below());
  caller.End();
  CHECK(tree.KinshipOf(*held, *below_other) == Kinship::kStranger);
  CHECK(narrower.KinshipOf(*below_other, *asking) == Kinship::kStranger);
  CHECK_FALSE(HoldProcess(0).has_value());
  CHECK(CommandTree().KinshipOf(*below_other, *asking) == Kinship::kStranger);
}

}  // namespace
}  // namespace cordon::internal
