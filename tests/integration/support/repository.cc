#include "integration/support/repository.h"

#include <filesystem>

#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;

std::string Trace(const Ground& ground) { return ground.root() + "/trace"; }

void CopyTree(const Ground& ground, const std::string& from, const std::string& to) {
  const Ended copied = ground.RunUnconfined("mkdir -p " + to + " && cp -a " + from + "/. " + to);
  INFO(copied.err);
  REQUIRE(copied.status == 0);
}

}  // namespace

void MakeRepository(const Ground& ground, std::string_view folder) {
  const Ended made = ground.RunUnconfined("set -e; d=" + ground.PathOf(folder) + R"(
    git init -q -b main "$d" && cd "$d"
    git config user.name tester && git config user.email tester@example.test
    echo first >first.txt && git add first.txt && git commit -q -m first)");
  INFO(made.err);
  REQUIRE(made.status == 0);
}

void MakePayload(const Ground& ground) {
  ground.MakeProgram("payload", "#!/bin/sh\necho ran >>" + Trace(ground) + "\n");
}

bool PayloadRan(const Ground& ground) { return ground.Exists(Trace(ground)); }

void ForgetPayload(const Ground& ground) { ground.Remove(Trace(ground)); }

void WorkOnHost(const Ground& ground, std::string_view folder) {
  ground.RunUnconfined("cd " + ground.PathOf(folder) + R"( || exit
    git status
    echo more >>later.txt
    git add later.txt
    git -c user.name=host -c user.email=host@example.test commit -m later
    git log -1
    git checkout -q -b later)");
}

void ExpectNoPlant(const Ground& ground, std::string_view trick, std::string_view folder,
                   int line) {
  const std::string kept = ground.root() + "/kept";
  if (!fs::exists(kept)) CopyTree(ground, ground.workspace(), kept);
  ground.EmptyWorkspace();
  CopyTree(ground, kept, ground.workspace());
  ForgetPayload(ground);

  // The control, in the workspace itself: paths in the trick mean the same in both runs.
  ground.RunUnconfined(trick);
  WorkOnHost(ground, folder);
  INFO("line " << line << ": " << trick);
  REQUIRE(PayloadRan(ground));

  ground.EmptyWorkspace();
  CopyTree(ground, kept, ground.workspace());
  ForgetPayload(ground);
  const CordonRun run = RunText(ground, {}, "echo began\n" + std::string(trick));
  Expect(run, "it is started", line).Out("began");
  WorkOnHost(ground, folder);
  INFO("out: " << run.out << "\nerr: " << run.err);
  CHECK_FALSE(PayloadRan(ground));

  ForgetPayload(ground);
  ground.EmptyWorkspace();
  CopyTree(ground, kept, ground.workspace());
}

}  // namespace cordon::test
