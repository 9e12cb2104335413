// A run leaves nothing on the host but what its command wrote into the workspace, however it ends.

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

class WatchedGround : public Ground {
 public:
  WatchedGround() {
    MakeRepository(*this, ".");
    RunUnconfined("git update-index -q --refresh");
    policy = {"--deny-read", PathOf("missing/secret"), "--deny-write", PathOf("absent/file"),
              "--deny-read", home() + "/.aws",         "--deny-write", "**/*.none"};
    before_ = Look();
  }

  // Whether it all looks as before, soon: what was killed is cleaned up behind its back.
  void ExpectClean(const std::string& after) const {
    const bool clean = Within(seconds(5), [this] { return Look() == before_; });
    const std::vector<std::string> now = Look();
    std::vector<std::string> changed;
    std::set_symmetric_difference(before_.begin(), before_.end(), now.begin(), now.end(),
                                  std::back_inserter(changed));
    INFO(after << "\nfirst change: " << (changed.empty() ? "" : changed.front()));
    CHECK(clean);
    CHECK(RunUnconfined("git --no-optional-locks status --porcelain").out.empty());
  }

  Words policy;

 private:
  [[nodiscard]] std::vector<std::string> Look() const {
    std::vector<std::string> all;
    for (const std::string& folder : {workspace(), home(), temporary(), outside()}) {
      const auto lines = Snapshot(folder);
      all.insert(all.end(), lines.begin(), lines.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  std::vector<std::string> before_;
};

TEST_CASE("runs that end by themselves leave nothing behind") {
  const WatchedGround ground;
  Expect(RunText(ground, ground.policy, "mktemp; echo x >\"$TMPDIR/file\"; echo x >~/file"))
      .Status(0);
  ground.ExpectClean("success");
  Expect(RunText(ground, ground.policy, "exit 9")).Status(9);
  ground.ExpectClean("failure");
  Expect(RunText(ground, ground.policy, "kill -SEGV $$")).Status(139);
  ground.ExpectClean("a signal");
  Expect(RunInside(ground, {"--", "no-such-program"})).Status(127);
  ground.ExpectClean("a program that is not there");
}

TEST_CASE("a run that is ended by its time limit leaves nothing behind") {
  const WatchedGround ground;
  Words options = ground.policy;
  options.insert(options.end(), {"--timeout", "400ms"});
  Expect(RunText(ground, options, "echo x >\"$TMPDIR/file\"; sleep 30")).Status(124);
  ground.ExpectClean("the time limit");
}

TEST_CASE("names that would be protected leave nothing when they are made inside") {
  const WatchedGround ground;
  Expect(RunText(ground, ground.policy, R"(echo began
    mkdir .vscode .idea .claude .codex; echo x >.envrc; echo x >.bashrc; echo x >.gitmodules
    echo x >.vscode/tasks.json; echo x >.claude/settings.json;
    echo x >.git/commondir; echo x >.git/config.worktree; exit 0)"))
      .Out("began");
  ground.ExpectClean("protected names");
}

TEST_CASE("shared memory of the command is not that of the host") {
  const Ground ground;
  const std::string name = "/dev/shm/cordon-test" + SleepMark();
  ExpectAllowed(ground, {}, "echo x >" + name + " && grep -q x " + name);
  CHECK_FALSE(ground.Exists(name));
}

TEST_CASE("a run whose cordon is killed leaves nothing behind and neither does the next one") {
  const WatchedGround ground;
  Words arguments = ground.policy;
  arguments.insert(arguments.end(),
                   {"-c",
                    "echo x >\"$TMPDIR/file\"; mkdir .vscode; echo x >.vscode/tasks.json; "
                    "echo x >.envrc; echo began; sleep 30"});
  Child child(InsideCommand(ground, arguments), InsideOptions(ground));
  std::string line;
  REQUIRE(child.ReadLine(line, seconds(10)));
  REQUIRE(line == "began");
  child.Signal(SIGKILL);
  CHECK(child.Finish().status == 128 + SIGKILL);
  ground.ExpectClean("SIGKILL");
  Expect(RunText(ground, ground.policy, "echo ran")).Status(0).Out("ran");
  ground.ExpectClean("the run after it");
}

}  // namespace
}  // namespace cordon::test
