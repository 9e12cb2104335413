// Sets where the first command, and not `Create`, learns whether a sandbox can be made.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/status.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::FakeAuthority;
using testing::SandboxFixture;

// From now on, for this process and what it starts: a sandbox can be begun, and fails on the way.
bool RefusePivotRoot() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pivot_root, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

// What `act` returns in a process where no sandbox can be made.
template <typename Act>
int WhereNoneCanBeMade(Act act) {
  const pid_t child = fork();
  if (child == 0) _exit(RefusePivotRoot() ? act() : 99);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("a set that is proved late confines its commands, from the first on") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  fixture.options.late_proof = true;
  fixture.options.ready_sandboxes = GENERATE(0, 2);
  for (int i = 0; i < 3; ++i) {
    const RunResult result = fixture.Shell("touch /etc/cordon-was-here || echo $$ >own");
    CHECK(result.outcome.code == 0);
    CHECK(result.report.backend == "namespaces");
    CHECK(result.report.level == Level::kFull);
  }
  CHECK(testing::Exists(fixture.workspace() + "/own"));
  CHECK_FALSE(testing::Exists("/etc/cordon-was-here"));
}

TEST_CASE(
    "where no sandbox can be made, a set that is proved late says so before grants are spent") {
  CORDON_NEED_NAMESPACES();
  constexpr int kAsPromised = 7;
  const auto first_command = [] {
    SandboxFixture fixture;
    std::shared_ptr<FakeAuthority> authority;
    fixture.options.make_authority =
        [&](std::string id) -> absl::StatusOr<std::shared_ptr<GrantAuthority>> {
      return authority = std::make_shared<FakeAuthority>(std::move(id));
    };
    fixture.options.late_proof = true;
    fixture.config.command = Access::kGated;
    const auto set = fixture.Make();
    if (!set.ok()) return 1;
    const auto executor = (*set)->For("test");
    if (!executor.ok()) return 2;
    const Command command = Command::Shell("touch ran", fixture.workspace());
    RunOptions options;
    options.execution_id = "one";
    const auto grant =
        authority->Issue((*executor)->BindingFor(command, "one"),
                         {GrantClass::kCommandStart, {}, std::nullopt}, std::chrono::seconds(60));
    if (!grant.ok()) return 3;
    options.grants = {*grant};
    if (!Is((*executor)->Run(command, options).status(), ErrorCode::kUnavailable)) return 4;
    if (authority->spent() != 0 || testing::Exists(fixture.workspace() + "/ran")) return 5;
    return (*set)->Close().ok() ? kAsPromised : 6;
  };
  CHECK(WhereNoneCanBeMade(first_command) == kAsPromised);
}

}  // namespace
}  // namespace cordon::internal
