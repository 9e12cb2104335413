#include "wrappers.h"

#include <string>
#include <string_view>
#include <vector>

#include "command_match.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

// The commands that `text` comes to: words joined by blanks, `?` for one that is not exact, `%` for
// what is read; in front the assigned variables in brackets, behind them the wrappers in braces.
std::vector<std::string> Inside(std::string_view text) {
  std::vector<std::string> lines;
  for (const SimpleCommand& command : UnwrapAll(ReadShellText(text)).commands) {
    std::string line;
    for (const std::string& name : command.assigned_names) line += "[" + name + "] ";
    for (const std::string& name : command.wrappers) line += "{" + name + "} ";
    for (const ShellWord& word : command.words) {
      line += word.from_input ? "%" : word.exact ? word.text : "?";
      line += " ";
    }
    line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

bool IsCovered(std::string_view text, const std::vector<std::string>& families) {
  return CoverWithFamilies(ReadShellText(text), families).has_value();
}
FamilyHit Hit(std::string_view text, std::string_view family) {
  return FindFamilyUse(ReadShellText(text), family).hit;
}

TEST_CASE("known wrappers are looked through with the options that do not change what runs") {
  CHECK(Inside("env git status") == Lines{"{env} git status"});
  CHECK(Inside("env CI=1 LANG=C make -j4") == Lines{"[CI] [LANG] {env} make -j4"});
  CHECK(Inside("env -i -u HOME X=1 ls") == Lines{"[] [HOME] [X] {env} ls"});
  CHECK(Inside("nice make") == Lines{"{nice} make"});
  CHECK(Inside("nice -n 19 make") == Lines{"{nice} make"});
  CHECK(Inside("nice -n-5 make") == Lines{"{nice} make"});
  CHECK(Inside("nice --adjustment=5 make") == Lines{"{nice} make"});
  CHECK(Inside("time make") == Lines{"{time} make"});
  CHECK(Inside("time -p make") == Lines{"{time} make"});
  CHECK(Inside("timeout 5 git status") == Lines{"{timeout} git status"});
  CHECK(Inside("timeout -k 1m -s KILL --foreground 0.5h make") == Lines{"{timeout} make"});
  CHECK(Inside("/usr/bin/timeout --signal=9 5 make") == Lines{"{/usr/bin/timeout} make"});
  CHECK(Inside("CI=1 timeout 5 nice env ls") == Lines{"[CI] {timeout} {nice} {env} ls"});
}

TEST_CASE("what xargs reads is a word that nobody knows") {
  CHECK(Inside("xargs wc -l") == Lines{"{xargs} wc -l %"});
  CHECK(Inside("xargs -0 -n 1 -P4 wc") == Lines{"{xargs} wc %"});
  CHECK(Inside("xargs -I{} cp {} x/{}.bak") == Lines{"{xargs} cp % %"});
  CHECK(Inside("xargs -I % % x") == Lines{"{xargs} % x"});
  CHECK(Inside("xargs") == Lines{"{xargs} echo %"});
  CHECK(Inside("xargs env") == Lines{"{xargs} env %"});
  CHECK(Inside("xargs sh -c") == Lines{"{xargs} sh -c %"});
}

TEST_CASE("the text of a shell is read when it is plain") {
  CHECK(Inside("sh -c 'git status'") == Lines{"{sh} git status"});
  CHECK(Inside("bash -ec \"make && ls | wc\" name") ==
        Lines{"{bash} make", "{bash} ls", "{bash} wc"});
  CHECK(Inside("timeout 9 sh -c 'nice ls; pwd'") ==
        Lines{"{timeout} {sh} {nice} ls", "{timeout} {sh} pwd"});
  CHECK(Inside("X=1 sh -c 'Y=2 ls' >out") == Lines{"[X] [Y] {sh} ls"});
}

TEST_CASE("what is not known is not looked through") {
  for (const std::string_view text : {"env -S ls",
                                      "env --split-string=ls",
                                      "env -S'a=b' ls",
                                      "env -C x ls",
                                      "env -x=1 ls",
                                      "env",
                                      "env X=1",
                                      "env $x",
                                      "env -i",
                                      "nice",
                                      "nice -5 ls",
                                      "nice -n x ls",
                                      "nice $x",
                                      "time -v ls",
                                      "timeout",
                                      "timeout 5",
                                      "timeout $x ls",
                                      "timeout ls",
                                      "timeout -x 5 ls",
                                      "timeout 5 $x",
                                      "timeout -- 5 ls",
                                      "xargs -a x ls",
                                      "xargs -i ls",
                                      "xargs -o vi",
                                      "xargs -p ls",
                                      "xargs --arg-file=x ls",
                                      "sh",
                                      "sh x.sh",
                                      "sh -c",
                                      "sh -c $x",
                                      "sh -c \"ls $x\"",
                                      "sh -c 'ls $(id)'",
                                      "sh -c 'ls' a b",
                                      "sh -c -x",
                                      "sh -lc ls",
                                      "sh -ic ls",
                                      "bash --rcfile x -c ls",
                                      "sh -c 'sleep 1 &'",
                                      "zsh -c ls",
                                      "./env ls",
                                      "/tmp/timeout 5 ls",
                                      "nohup ls",
                                      "command ls",
                                      "sh -c 'if x; then y; fi'"}) {
    CAPTURE(text);
    for (const SimpleCommand& command : UnwrapAll(ReadShellText(text)).commands) {
      CHECK(command.wrappers.empty());
    }
  }
}

TEST_CASE("several commands are not put in the place of one end of a pipe") {
  CHECK(Inside("sh -c 'a; b' | c").size() == 2);
  CHECK(Inside("c | sh -c 'a; b'").size() == 2);
  CHECK(Inside("sh -c 'a; b' &").size() == 1);
  CHECK(Inside("c | sh -c 'a' | b").size() == 3);
  CHECK(Inside("sh -c 'a; b' && c").size() == 3);
}

TEST_CASE("wrappers in wrappers are looked through to a bounded depth") {
  std::string text = "ls";
  for (int i = 0; i < 200; ++i) text.insert(0, "nice ");
  const SimpleCommand command = UnwrapAll(ReadShellText(text)).commands.at(0);
  CHECK(command.words[0].text == "nice");
  CHECK_FALSE(IsCovered(text, {"ls"}));
  CHECK(Hit(text, "rm") == FamilyHit::kMight);
  CHECK(IsCovered("nice nice nice ls", {"ls"}));
}

TEST_CASE("a family covers its permitted uses behind a wrapper and no more") {
  const std::vector<std::string> families = {"git status", "make", "wc",     "grep",
                                             "git add",    "find", "git log"};
  for (const std::string_view text :
       {"timeout 5 git status", "env CI=1 make test", "nice make -j4", "time make",
        "sh -c 'git status'", "bash -c 'cd lib && make'", "find . -name '*.c' | xargs wc -l",
        "find . -type f | xargs grep -n x", "xargs git add --", "timeout 9 sh -c 'make; make test'",
        "env -u CI make", "timeout 5 make 2>&1", "find . | xargs -I{} grep -c x {}"}) {
    CAPTURE(text);
    CHECK(IsCovered(text, families));
  }
  for (const std::string_view text : {"timeout 5 git push",
                                      "timeout 5 git status --output=x",
                                      "env FOO=1 make",
                                      "env -i make",
                                      "env -u HOME make",
                                      "env PATH=. make",
                                      "BASH_ENV=x bash -c 'git status'",
                                      "sh -c 'git status; id'",
                                      "sh -c 'git status' >x",
                                      "sh -c 'git status >x'",
                                      "xargs make",
                                      "xargs git",
                                      "xargs git add",
                                      "xargs find",
                                      "xargs -I{} make {}",
                                      "xargs -I{} {} x",
                                      "xargs git log",
                                      "xargs grep -e",
                                      "git log | xargs git add --",
                                      "nice -n5 id",
                                      "time id",
                                      "env git",
                                      "xargs",
                                      "sh -c 'make &'",
                                      "make | sh -c 'wc; wc'"}) {
    CAPTURE(text);
    CHECK_FALSE(IsCovered(text, families));
  }
}

TEST_CASE("a denied family is found behind a wrapper, and the wrapper itself is one") {
  for (const std::string_view text :
       {"env rm x", "env X=1 rm x", "timeout 5 rm x", "nice rm x", "time rm x", "xargs rm",
        "ls | xargs -I{} rm {}", "sh -c 'rm x'", "sh -c 'ls; rm x'", "bash -c 'sh -c \"rm x\"'",
        "timeout 5 xargs -0 rm", "/usr/bin/env /bin/rm", "ls | sh -c 'a; rm x'"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kYes);
  }
  for (const std::string_view text :
       {"env -S 'rm x'", "env $x", "xargs -I{} {} x", "xargs sh -c", "xargs env", "xargs tar",
        "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls", "env BASH_ENV=x sh -c ls", "sh -c '$0' rm",
        "x=rm sh -c 'foo $x'", "sh -c \"$x\"", "xargs -I{} sh -c '{}'", "xargs python3",
        "timeout 5 find . -exec rm {} +", "timeout 5 nohup rm x", "env -i ls"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kMight);
  }
  for (const std::string_view text :
       {"env ls", "env CI=1 make", "timeout 5 make", "nice make", "time ls", "xargs wc -l",
        "sh -c 'ls; pwd'", "ls | xargs grep rm"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kNo);
  }
  CHECK(Hit("xargs git", "git push") == FamilyHit::kMight);
  CHECK(Hit("xargs git push", "git push") == FamilyHit::kYes);
  CHECK(Hit("timeout 5 ls", "timeout") == FamilyHit::kYes);
  CHECK(Hit("sh -c 'time ls'", "time") == FamilyHit::kYes);
}

}  // namespace
}  // namespace cordon::internal
