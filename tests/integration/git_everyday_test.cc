// Git works inside as it does outside.

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

std::string OnHost(const Ground& ground, const std::string& text) {
  std::string out = Control(ground, text);
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

void ExpectSound(const Ground& ground, const std::string& folder) {
  CHECK(ground.RunUnconfined("git -C " + folder + " fsck --strict --no-progress").status == 0);
  CHECK(OnHost(ground, "find " + folder + " -path '*.git*' -name '*.lock'").empty());
}

TEST_CASE("a repository is worked on: commit, branch, merge, rebase, stash, tag, collect") {
  const Ground ground;
  MakeRepository(ground, ".");
  ExpectAllowed(ground, {}, R"(set -e
    git status --short && git log --oneline >/dev/null
    echo two >two.txt && git add . && git commit -q -m two && git commit -q --amend -m "two again"
    git checkout -q -b side && echo side >side.txt && git add . && git commit -q -m side
    git switch -q main && echo three >three.txt && git add . && git commit -q -m three
    git merge -q --no-ff -m merged side && git branch -q -d side
    git checkout -q -b topic HEAD~1 && echo topic >topic.txt && git add . && git commit -q -m topic
    git rebase -q main && git checkout -q main && git merge -q --ff-only topic
    echo dirty >>first.txt && git stash -q && git diff --quiet && git stash pop -q
    git restore first.txt && git tag -a -m tagged v1 && git revert --no-edit HEAD >/dev/null
    git mv two.txt deux.txt && git commit -q -m moved && git rm -q deux.txt && git commit -q -m gone
    git reset -q --hard HEAD~1 && git clean -qfd && git gc -q --prune=now && git fsck --no-progress
    git bisect start HEAD v1 >/dev/null && git bisect reset >/dev/null 2>&1 && git notes add -m note)");
  ExpectSound(ground, ".");
  CHECK(OnHost(ground, "git log -1 --format=%s") == "moved");
  CHECK(OnHost(ground, "git show -s --format=%s v1^{commit}") == "topic");
}

TEST_CASE("repositories are made inside: init, clone, worktree") {
  const Ground ground;
  MakeRepository(ground, ".");
  ExpectAllowed(ground, {}, R"(set -e
    git init -q fresh
    (cd fresh && echo a >a && git add a &&
      git -c user.name=t -c user.email=t@example.test commit -q -m a)
    git clone -q . copy && git -C copy log -1 --format=%s >/dev/null && git -C copy status --short
    git clone -q --bare . bare.git && git -C bare.git log -1 --format=%s main >/dev/null
    git worktree add -q -b tree tree && (cd tree && echo t >t && git add t && git commit -q -m tree)
    git worktree remove tree)");
  ExpectSound(ground, ".");
  ExpectSound(ground, "fresh");
  ExpectSound(ground, "copy");
  CHECK(OnHost(ground, "git -C fresh log -1 --format=%s") == "a");
  CHECK(OnHost(ground, "git log -1 --format=%s tree") == "tree");
}

TEST_CASE("a linked worktree whose repository lies outside is worked on") {
  const Ground ground;
  const std::string main = ground.outside() + "/main";
  MakeRepository(ground, main);
  Control(ground, "git -C " + main + " worktree add -q -b tree " + ground.workspace());
  ExpectAllowed(ground, {}, R"(set -e
    git status --short && git log -1 >/dev/null
    echo two >two.txt && git add two.txt && git commit -q -m "from the worktree"
    git checkout -q -b side && echo s >s.txt && git add s.txt && git commit -q -m side
    git checkout -q tree && git merge -q side
    echo dirty >>two.txt && git stash -q && git stash pop -q && git restore two.txt)");
  CHECK(OnHost(ground, "git -C " + main + " log -1 --format=%s tree") == "side");
  ExpectSound(ground, main);
  // The files of the main worktree are no part of it.
  Attempt(ground, {}, "echo x >" + main + "/first.txt");
  CHECK(ground.Read(main + "/first.txt") == "first\n");
}

TEST_CASE("a submodule is worked on") {
  const Ground ground;
  MakeRepository(ground, ".");
  MakeRepository(ground, ground.outside() + "/library");
  Control(ground, "git -c protocol.file.allow=always submodule --quiet add " + ground.outside() +
                      "/library library && git commit -q -m submodule");
  ExpectAllowed(ground, {}, R"(set -e
    cd library && git status --short && echo n >n && git add n
    git -c user.name=t -c user.email=t@example.test commit -q -m n
    cd .. && git add library && git commit -q -m moved)");
  CHECK(OnHost(ground, "git -C library log -1 --format=%s") == "n");
}

}  // namespace
}  // namespace cordon::test
