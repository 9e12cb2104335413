// Nothing that a command leaves in a repository runs when a person uses git there afterwards.

#include <chrono>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/repository.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

class ArmedGround : public Ground {
 public:
  ArmedGround() {
    MakeRepository(*this, ".");
    MakeRepository(*this, "vendor/nested");
    MakeProgram(".git/hooks/post-merge", "#!/bin/sh\n");
    MakePayload(*this);
  }
};

TEST_CASE("no hook is planted in the repository of the workspace") {
  const ArmedGround ground;
  for (const char* trick : {
           "cp payload .git/hooks/pre-commit",
           "cp payload .git/x && mv .git/x .git/hooks/pre-commit",
           "ln payload .git/hooks/pre-commit",
           "ln -s ../../payload .git/hooks/post-checkout",
           "mv .git/hooks/post-merge .git/hooks/pre-commit; cat payload >.git/hooks/pre-commit",
           "mv .git/hooks .git/old; mkdir .git/hooks && cp payload .git/hooks/pre-commit",
           "rm -rf .git/hooks; mkdir .git/hooks && cp payload .git/hooks/pre-commit",
           "rm -rf .git/hooks; mkdir own && cp payload own/pre-commit && ln -s ../own .git/hooks",
       }) {
    ExpectNoPlant(ground, trick);
  }
}

TEST_CASE("no program is named in the configuration of the repository") {
  const ArmedGround ground;
  for (const char* trick : {
           "git config core.fsmonitor ./payload",
           "git config core.hooksPath own; mkdir -p own && cp payload own/pre-commit",
           "printf '[core]\\n\\tfsmonitor = ./payload\\n' >>.git/config",
           "sed -i 's|.core.|[core]\\n\\tfsmonitor = ./payload|' .git/config",
           "cp .git/config c && printf '[core]\\n\\tfsmonitor = ./payload\\n' >>c && mv c "
           ".git/config",
           "printf '[core]\\n\\tfsmonitor = ./payload\\n' >i && git config include.path ../i",
           "git config extensions.worktreeConfig true; "
           "printf '[core]\\n\\tfsmonitor = ./payload\\n' >.git/config.worktree",
       }) {
    ExpectNoPlant(ground, trick);
  }
}

TEST_CASE("moving what is above a hook does not free it") {
  const ArmedGround ground;
  for (const char* trick : {
           "mv .git g; mkdir .git && cp -r g/. .git/ && cp payload .git/hooks/pre-commit",
           "mv .git g; cp payload g/hooks/pre-commit && ln -s g .git",
           "cp -r .git g && cp payload g/hooks/pre-commit && mv .git old; mv g .git",
           "cp -r .git g && cp payload g/hooks/pre-commit && python3 -c 'import ctypes\n"
           "ctypes.CDLL(None).renameat2(-100, b\".git\", -100, b\"g\", 2)'",
       }) {
    ExpectNoPlant(ground, trick);
  }
  for (const char* trick : {
           "mv vendor v; mkdir vendor && cp -r v/. vendor/ && "
           "cp payload vendor/nested/.git/hooks/pre-commit",
           "cp -r vendor v && cp payload v/nested/.git/hooks/pre-commit; mv vendor old; ln -s v "
           "vendor",
           "mv vendor/nested n; mkdir vendor/nested && cp -r n/. vendor/nested/ && "
           "cp payload vendor/nested/.git/hooks/pre-commit",
           "cp payload vendor/nested/.git/hooks/pre-commit",
           "git -C vendor/nested config core.fsmonitor $PWD/payload",
       }) {
    ExpectNoPlant(ground, trick, "vendor/nested");
  }
}

TEST_CASE("the repository is not sent to another common folder") {
  const ArmedGround ground;
  const std::string copy =
      "mkdir -p evil/hooks && cp -r .git/. evil/ && cp payload evil/hooks/pre-commit && "
      "printf '[core]\\n\\tfsmonitor = %s/payload\\n' \"$PWD\" >>evil/config; ";
  ExpectNoPlant(ground, copy + "echo ../evil >.git/commondir");
  ExpectNoPlant(ground, copy + "echo ../evil >c && mv c .git/commondir");
  ExpectNoPlant(ground, copy + "echo ../evil >c && ln -s ../c .git/commondir");
}

TEST_CASE("files of git that run nothing stay writable") {
  const ArmedGround ground;
  ExpectAllowed(ground, {}, "echo own >>.git/info/exclude && echo text >.git/description");
  CHECK(Has(ground.Read(".git/info/exclude"), "own"));
}

TEST_CASE("a folder without a repository is renamed as ever") {
  const ArmedGround ground;
  ExpectAllowed(ground, {}, "mkdir -p plain/deep && echo x >plain/deep/f && mv plain moved");
  CHECK(ground.Read("moved/deep/f") == "x\n");
}

TEST_CASE("the shared folder of a linked worktree is protected like a repository's own") {
  const Ground ground;
  const std::string main = ground.outside() + "/main";
  MakeRepository(ground, main);
  Control(ground, "git -C " + main + " worktree add -q -b tree " + ground.workspace());
  MakePayload(ground);
  const std::string payload = ground.PathOf("payload");
  for (const std::string& trick : Words{
           "cp payload $c/hooks/pre-commit",
           "cp payload $c/x && mv $c/x $c/hooks/pre-commit",
           "git config core.fsmonitor " + payload,
           "printf '[core]\\n\\tfsmonitor = " + payload + "\\n' >>$c/config",
           "mv $c/hooks $c/h; mkdir $c/hooks && cp payload $c/hooks/pre-commit",
       }) {
    INFO(trick);
    Expect(RunText(ground, {}, "echo began; c=$(git rev-parse --git-common-dir); " + trick))
        .Out("began");
    WorkOnHost(ground, ".");
    WorkOnHost(ground, main);
    CHECK_FALSE(PayloadRan(ground));
  }
  // The control.
  ground.RunUnconfined("c=$(git rev-parse --git-common-dir); cp payload $c/hooks/pre-commit");
  WorkOnHost(ground, ".");
  CHECK(PayloadRan(ground));
}

TEST_CASE("a repository that was made and armed in the same run does no harm or is named") {
  const ArmedGround ground;
  const CordonRun run = RunText(ground, {}, R"(git init -q new && git clone -q . copy && echo began
    cp payload new/.git/hooks/pre-commit; cp payload copy/.git/hooks/pre-commit; exit 0)");
  Expect(run).Out("began");
  for (const std::string repository : {"new", "copy"}) {
    ForgetPayload(ground);
    WorkOnHost(ground, repository);
    if (PayloadRan(ground)) {
      INFO(run.report["changed_protected"].dump());
      CHECK(Has(run.report["changed_protected"].dump(), repository + "/.git/hooks"));
    }
  }
}

TEST_CASE("settings that make editors and shells run programs are not planted") {
  const Ground ground;
  ground.MakeFile(".vscode/settings.json", "{}");
  ground.MakeFile(".envrc", "before");
  const std::string undo =
      "rm -rf .bashrc .idea .claude; printf before >.envrc; "
      "echo {} >.vscode/settings.json; rm -f .vscode/tasks.json";
  for (const char* act : {"echo x >.envrc", "echo x >.vscode/settings.json",
                          "echo x >.vscode/tasks.json", "mv .envrc e"}) {
    ExpectRefused(ground, {}, act, undo + "; rm -f e");
  }
  for (const char* name : {".idea/workspace.xml", ".claude/settings.json", ".bashrc"}) {
    INFO(name);
    const CordonRun run = RunText(
        ground, {}, "mkdir -p $(dirname " + std::string(name) + "); echo x >" + name + "; exit 0");
    CHECK((!ground.Exists(name) || Has(run.report["changed_protected"].dump(), name)));
    ground.RunUnconfined(undo);
  }
}

// The second one is begun while the first one's plant is there, and plants anew when that is gone.
TEST_CASE("what a command of another process has planted is not taken for the user's") {
  const ArmedGround ground;
  const std::string plants = "echo evil >.git/config.worktree; echo evil >.vscode; ";
  const auto wait_for = [](const std::string& name) {
    return "while ! [ -e " + name + " ]; do sleep 0.02; done; ";
  };
  Child first(InsideCommand(ground, {"-c", plants + "echo planted; " + wait_for("go")}),
              InsideOptions(ground));
  std::string line;
  REQUIRE(first.ReadLine(line, std::chrono::seconds(20)));
  REQUIRE((ground.Exists(".vscode") && ground.Exists(".git/config.worktree")));  // The control.
  Child second(InsideCommand(ground, {"-c", "echo here; " + wait_for("on") + plants + "true"}),
               InsideOptions(ground));
  REQUIRE(second.ReadLine(line, std::chrono::seconds(20)));
  ground.MakeFile("go", "");
  CHECK(first.Finish().status == 0);
  CHECK_FALSE((ground.Exists(".vscode") || ground.Exists(".git/config.worktree")));
  ground.MakeFile("on", "");
  CHECK(second.Finish().status == 0);
  CHECK_FALSE(ground.Exists(".vscode"));
  CHECK_FALSE(ground.Exists(".git/config.worktree"));
}

TEST_CASE("what the user makes while a command of another process runs is left alone") {
  const ArmedGround ground;
  Child first(InsideCommand(ground, {"-c", "echo here; while ! [ -e go ]; do sleep 0.02; done"}),
              InsideOptions(ground));
  std::string line;
  REQUIRE(first.ReadLine(line, std::chrono::seconds(20)));
  ground.MakeFile(".mcp.json", "user");
  const CordonRun second = RunText(ground, {}, "true");
  CHECK(second.status == 0);
  CHECK(ground.Read(".mcp.json") == "user");
  ground.MakeFile("go", "");
  CHECK(first.Finish().status == 0);
}

}  // namespace
}  // namespace cordon::test
