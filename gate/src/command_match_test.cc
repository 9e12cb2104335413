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
  const std::vector<std::string> families = {"git status", "npm test"};
  for (const std::string_view text :
       {"git status", "git status -s", "git status --short src", "git status 'a b'",
        "  git   status  ", "npm test", "npm test -- --watch=false", "git status && npm test",
        "npm test; git status", "git status || npm test", "git status\nnpm test", "git status 2>&1",
        "git status 2>/dev/null", "git status # why", "git status -sb"}) {
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
                                      "CI=1 git status",
                                      "git status *",
                                      "git status $x",
                                      "./git status",
                                      "/tmp/git status",
                                      "git -C / status",
                                      "git -c a=b status",
                                      "npm test --script-shell=/tmp/x",
                                      "env git status",
                                      "xargs git",
                                      "git config x y",
                                      "npm test | git status",
                                      "git status | npm test",
                                      "git status --output=x"}) {
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
  for (const std::string_view text :
       {"rm x", "rm", "rm -rf build", "/bin/rm x", "echo a; rm x", "true && rm x", "ls | rm x",
        "'rm' x", "r\"\"m x", "\\rm x", "X=1 rm x", ">o rm x", "rm $x", "rm *", "rm x &"}) {
    CAPTURE(text);
    CHECK(Hit(text, "rm") == FamilyHit::kYes);
  }
}

TEST_CASE("what might hide a denied family is told apart from what does not") {
  for (const std::string_view text : {"sh -c \"rm x\"",
                                      "env rm x",
                                      "xargs rm",
                                      "find . -exec rm {} +",
                                      "command rm x",
                                      "eval \"rm x\"",
                                      "$(echo rm) x",
                                      "`echo rm` x",
                                      "x=rm; $x y",
                                      "bash <<< \"rm x\"",
                                      "nohup rm x",
                                      "time rm x",
                                      "exec rm x",
                                      "(rm x)",
                                      "{ rm x; }",
                                      "echo $(rm x)",
                                      "if true; then rm x; fi",
                                      "f() { rm x; }; f",
                                      "! rm x",
                                      "python3 -c 'x'",
                                      "python3",
                                      "/usr/bin/env rm",
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

// --- the catalogue: each entry covers its bare form and not an option that it leaves out

struct FamilyCase {
  std::string_view family;
  std::vector<std::string_view> covered;
  std::vector<std::string_view> refused;
};

const std::vector<FamilyCase>& FamilyCases() {
  static const std::vector<FamilyCase> cases = {
      {"git status", {"git status -uno"}, {"git status --pathspec-from-file=x"}},
      {"git diff",
       {"git diff --stat HEAD~1", "git diff -U3 -- a", "git diff -M"},
       {"git diff --output=x", "git diff --ext-diff", "git diff --textconv", "git diff -O/x"}},
      {"git log",
       {"git log -20 --oneline", "git log -n 5 --author=x", "git log -Sfoo", "git log --format=%H"},
       {"git log --format=%G?", "git log --show-signature", "git log --output=x",
        "git log --pretty %GK"}},
      {"git show",
       {"git show HEAD", "git show --stat HEAD:a"},
       {"git show --show-signature", "git show --format=%GG"}},
      {"git branch",
       {"git branch", "git branch -a", "git branch --list", "git branch -vv"},
       {"git branch x", "git branch -D x", "git branch --edit-description", "git branch -f x"}},
      {"git rev-parse", {"git rev-parse HEAD"}, {"git rev-parse --parseopt"}},
      {"git blame", {"git blame -L1,5 a"}, {"git blame --contents=x a"}},
      {"git ls-files", {"git ls-files -o --exclude-standard"}, {"git ls-files -X x"}},
      {"git add", {"git add -A", "git add a b"}, {"git add -e", "git add -p", "git add -f x"}},
      {"ls", {"ls -la src", "ls --color=never"}, {"ls --hyperlink"}},
      {"cat", {"cat -n a"}, {"cat --x"}},
      {"head", {"head -5 a", "head -n 5 a", "head -n5"}, {"head --x"}},
      {"tail", {"tail -20 a"}, {"tail -f a", "tail --follow a"}},
      {"wc", {"wc -l a"}, {"wc --files0-from=x"}},
      {"grep", {"grep -rn x src", "grep -A3 -e x a", "grep --include=*.c x"}, {"grep --x"}},
      {"rg", {"rg -n x"}, {"rg --pre sh x", "rg --hostname-bin x y", "rg -z x"}},
      {"sort",
       {"sort -k2 -n a"},
       {"sort -o b a", "sort a -ob", "sort --compress-program=x", "sort --output=x", "sort -T x"}},
      {"cut", {"cut -d, -f1 a"}, {"cut --x"}},
      {"tr", {"tr a b"}, {"tr --x"}},
      {"diff", {"diff -u a b"}, {"diff -l a b", "diff --paginate a b"}},
      {"stat", {"stat -c %n a"}, {"stat --x"}},
      {"du", {"du -sh ."}, {"du -X x"}},
      {"df", {"df -h"}, {"df --x"}},
      {"pwd", {"pwd -P"}, {"pwd x"}},
      {"echo", {"echo -n a"}, {"echo --x"}},
      {"true", {"true"}, {"true --x"}},
      {"false", {"false"}, {"false --x"}},
      {"which", {"which a"}, {"which --x"}},
      {"basename", {"basename a"}, {"basename --x"}},
      {"dirname", {"dirname a"}, {"dirname --x"}},
      {"mkdir", {"mkdir -p a"}, {"mkdir -m 777 a"}},
      {"touch", {"touch a"}, {"touch -r b a"}},
      {"make",
       {"make test", "make -j4 test", "make -j", "make -kj2"},
       {"make -f x", "make -C x", "make SHELL=/x", "make --eval=x", "make -E x", "make CC=x",
        "make -I x", "make --file=x"}},
      {"npm test", {"npm test -- --config=x"}, {"npm test --prefix x"}},
      {"npm ci", {"npm ci --ignore-scripts"}, {"npm ci x", "npm ci --script-shell x"}},
      {"npm ls", {"npm ls --depth=0"}, {"npm ls --prefix x"}},
      {"cargo build",
       {"cargo build --release -p x", "cargo build -j4"},
       {"cargo build --config x", "cargo build --target-dir=x", "cargo build --manifest-path x",
        "cargo build -Zx", "cargo +nightly build"}},
      {"cargo check", {"cargo check --all"}, {"cargo check --config=x"}},
      {"cargo test",
       {"cargo test -- --nocapture name"},
       {"cargo test -- --logfile=x", "cargo test --config x"}},
      {"cargo clippy", {"cargo clippy --all-targets"}, {"cargo clippy --fix"}},
      {"go build",
       {"go build ./..."},
       {"go build -o x", "go build -toolexec x", "go build -ldflags=x", "go build -overlay x"}},
      {"go test",
       {"go test -run X ./...", "go test -race -count=1"},
       {"go test -exec x", "go test -o x", "go test -c", "go test -coverprofile=x",
        "go test -args x", "go test -vet=off"}},
      {"go vet", {"go vet ./..."}, {"go vet -vettool=x"}},
      {"go version", {"go version"}, {"go version x"}},
      {"pytest",
       {"pytest -q -k x tests"},
       {"pytest -p x", "pytest -c x", "pytest @x", "pytest -o a=b", "pytest --pdbcls=x"}},
      {"ctest",
       {"ctest -R x --output-on-failure", "ctest -j4"},
       {"ctest -S x", "ctest -D x", "ctest --build-and-test a b", "ctest -T x"}},
  };
  return cases;
}

TEST_CASE("every family of the catalogue has cases") {
  for (const Family& family : FamilyCatalogue()) {
    bool found = false;
    for (const FamilyCase& entry : FamilyCases()) found = found || entry.family == family.name;
    CAPTURE(family.name);
    CHECK(found);
  }
}

TEST_CASE("families permit harmless options and refuse those that execute or write elsewhere") {
  for (const FamilyCase& entry : FamilyCases()) {
    const std::vector<std::string> families = {std::string(entry.family)};
    CAPTURE(entry.family);
    REQUIRE(FindFamily(entry.family) != nullptr);
    CHECK(Covered(entry.family, families));
    for (const std::string_view text : entry.covered) {
      CAPTURE(text);
      // A glob in a shell is not exact: read these as argv would be.
      CHECK((Covered(text, families) || text.find('*') != std::string_view::npos));
    }
    for (const std::string_view text : entry.refused) {
      CAPTURE(text);
      CHECK_FALSE(Covered(text, families));
    }
  }
}

TEST_CASE("a family outside the catalogue covers its bare words") {
  CHECK(Covered("terraform plan", {"terraform plan"}));
  CHECK_FALSE(Covered("terraform plan -out x", {"terraform plan"}));
  CHECK_FALSE(Covered("terraform plan x", {"terraform plan"}));
  CHECK_FALSE(Covered("git push", {"git"}));
}

}  // namespace
}  // namespace cordon::internal
