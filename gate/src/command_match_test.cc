#include "command_match.h"

#include <string>
#include <string_view>
#include <vector>

#include "families.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

bool Covered(std::string_view text, const std::vector<std::string>& families) {
  return CoverWithFamilies(ReadShellText(text), families).has_value();
}

FamilyHit Hit(std::string_view text, std::string_view family) {
  return FindFamilyUse(ReadShellText(text), family).hit;
}

TEST_CASE("a family covers its plain uses and their compounds") {
  const std::vector<std::string> families = {"git status", "npm test", "git diff"};
  for (const std::string_view text : {"git status",
                                      "git status -s",
                                      "git status --short src",
                                      "git status 'a b'",
                                      "  git   status  ",
                                      "npm test",
                                      "npm test -- --watch=false",
                                      "git status && npm test",
                                      "npm test; git status",
                                      "git status || npm test",
                                      "git status\nnpm test",
                                      "git status 2>&1",
                                      "git status 2>/dev/null",
                                      "git status # why",
                                      "git status -sb",
                                      "CI=1 npm test",
                                      "(git status; npm test)",
                                      "{ git status; }",
                                      "cd sub && git status",
                                      "git status \\\n -s",
                                      "cd a/b; npm test",
                                      "(cd a && npm test) && git status",
                                      "git diff stash@{0}",
                                      "git status src/*.c"}) {
    CAPTURE(text);
    CHECK(Covered(text, families));
  }
}

TEST_CASE("a family covers nothing else") {
  const std::vector<std::string> families = {"git status", "npm test", "env", "git", "xargs"};
  for (const std::string_view text : {"git push",
                                      "git statusx",
                                      "gitstatus",
                                      "id",
                                      "git status; id",
                                      "git status && id",
                                      "git status | id",
                                      "git status |& id",
                                      "git status & id",
                                      "git status &",
                                      "id; git status",
                                      "(git status; id)",
                                      "{ git status; id; }",
                                      "git status $(id)",
                                      "git status `id`",
                                      "git status \"$(id)\"",
                                      "git status <(id)",
                                      "git status <<< \"$(id)\"",
                                      "! git status; id",
                                      "if git status; then id; fi",
                                      "eval git status; id",
                                      "git status ${x:=$(id)}",
                                      "git status \\\n; id",
                                      "git status \"unfinished",
                                      "git() { id; }; git status",
                                      "alias git=id; git status",
                                      "g\\it status; i\\d",
                                      "git status'; id",
                                      "npm test && cd / && id",
                                      "npm test;; id",
                                      "git status\nid",
                                      "git status\rid",
                                      "id\ngit status",
                                      "git status # x\nid",
                                      "git status <<X\n$(id)\nX",
                                      "git status >out",
                                      "git status <in",
                                      "X=1 git status",
                                      "GIT_DIR=x git status",
                                      "PATH=x CI=1 git status",
                                      "git status *",
                                      "git status -*",
                                      "git status ?x",
                                      "cd / && git status",
                                      "cd .. && git status",
                                      "cd a/../.. && git status",
                                      "cd && git status",
                                      "cd - && git status",
                                      "cd $x && git status",
                                      "cd a | git status",
                                      "X=1 cd a",
                                      "cd a",
                                      "(git status) | id",
                                      "(git status) &",
                                      "(git status) >x",
                                      "(git status; id)",
                                      "git status {a,b}",
                                      "[ -f a ] && git status",
                                      "git status $x",
                                      "./git status",
                                      "/tmp/git status",
                                      "git -C / status",
                                      "git -c a=b status",
                                      "npm test --script-shell=/tmp/x",
                                      "nohup git status",
                                      "xargs git",
                                      "git config x y",
                                      "npm test | git status",
                                      "git status | npm test",
                                      "git status --output=x"}) {
    CAPTURE(text);
    CHECK_FALSE(Covered(text, families));
  }
}

TEST_CASE("a file may be read as input by what reads files, and by nothing else") {
  const std::vector<std::string> families = {"wc", "make", "git log", "whoami"};
  CHECK(Covered("wc -l <a/b", families));
  CHECK(Covered("make </dev/null", families));
  for (const std::string_view text : {"wc </dev/tcp/h/80", "wc </etc/x", "wc <../x", "wc <$x",
                                      "make <x", "git log <x", "whoami <x", "wc >x", "wc <>x"}) {
    CAPTURE(text);
    CHECK_FALSE(Covered(text, families));
  }
}

TEST_CASE("a pipe is covered between read-only families only") {
  const std::vector<std::string> families = {"git log", "head", "grep", "make"};
  CHECK(Covered("git log --oneline | head -5", families));
  CHECK(Covered("git log | grep -i fix | head -n 3", families));
  CHECK_FALSE(Covered("git log | make", families));
  CHECK_FALSE(Covered("make | grep error", families));
  CHECK(Covered("make; git log", families));
}

TEST_CASE("a denied family is found by name, path and quoting") {
  for (const std::string_view text : {"rm x",         "rm",           "rm -rf build",
                                      "/bin/rm x",    "echo a; rm x", "true && rm x",
                                      "ls | rm x",    "'rm' x",       "r\"\"m x",
                                      "\\rm x",       "X=1 rm x",     ">o rm x",
                                      "rm $x",        "rm *",         "rm x &",
                                      "(rm x)",       "{ rm x; }",    "(cd a && { rm x; })",
                                      "cd a && rm x", "ls \\\n; rm x"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kYes);
  }
}

TEST_CASE("what might hide a denied family is told apart from what does not") {
  for (const std::string_view text : {"sh -c \"rm $x\"; $y",
                                      "find . -exec rm {} +",
                                      "command rm x",
                                      "eval \"rm x\"",
                                      "$(echo rm) x",
                                      "`echo rm` x",
                                      "x=rm; $x y",
                                      "bash <<< \"rm x\"",
                                      "nohup rm x",
                                      "exec rm x",
                                      "(rm x) | cat",
                                      "{ rm x; } >y",
                                      "echo $(rm x)",
                                      "if true; then rm x; fi",
                                      "f() { rm x; }; f",
                                      "! rm x",
                                      "python3 -c 'x'",
                                      "python3",
                                      "sudo rm x",
                                      "tar --to-command=rm -x",
                                      "git rm x",
                                      "r? x",
                                      "find . $x",
                                      "ssh host rm",
                                      "alias ls=rm",
                                      "awk 'BEGIN{system(\"rm\")}'"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kMight);
  }
  for (const std::string_view text :
       {"ls", "echo rm", "grep -r rm src", "git rm-like", "find . -name x", "echo $HOME", "ls *.c",
        "make test", "python3 tool.py", "git status >out", "rmdir x", "cat rm", "echo a && ls"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kNo);
  }
}

TEST_CASE("a denied subcommand is found, and asked about behind options") {
  CHECK(Hit("git push origin", "git push") == FamilyHit::kYes);
  CHECK(Hit("git -C x push", "git push") == FamilyHit::kMight);
  CHECK(Hit("git -c alias.p=push p", "git push") == FamilyHit::kMight);
  CHECK(Hit("git $x", "git push") == FamilyHit::kMight);
  CHECK(Hit("git status", "git push") == FamilyHit::kNo);
  CHECK(Hit("git", "git push") == FamilyHit::kNo);
}

TEST_CASE("the argv form is taken word by word") {
  const ShellText text = ReadCommand(Command::Argv({"git", "status", "$(id)"}, "/"));
  CHECK(CoverWithFamilies(text, std::vector<std::string>{"git status"}).has_value());
  const ShellText denied = ReadCommand(Command::Argv({"/bin/rm", "x; y"}, "/"));
  CHECK(FindFamilyUse(denied, "rm").hit == FamilyHit::kYes);
}

TEST_CASE("text for a shell that is not understood is opaque") {
  CHECK(ReadCommand(Command::Shell("git status", "/", "/usr/bin/fish")).opaque);
  CHECK_FALSE(ReadCommand(Command::Shell("git status", "/", "/bin/bash")).opaque);
}

}  // namespace
}  // namespace cordon::internal
