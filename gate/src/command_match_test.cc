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
      {"git rev-list", {"git rev-list --count HEAD"}, {"git rev-list --use-bitmap-index x"}},
      {"git cat-file", {"git cat-file -p HEAD:a"}, {"git cat-file --textconv HEAD:a"}},
      {"git describe", {"git describe --tags"}, {"git describe --x"}},
      {"git shortlog", {"git shortlog -sn"}, {"git shortlog --output=x"}},
      {"git reflog", {"git reflog -5"}, {"git reflog expire", "git reflog delete x"}},
      {"git grep", {"git grep -n x"}, {"git grep -Ovim x", "git grep --open-files-in-pager x"}},
      {"git ls-tree", {"git ls-tree -r HEAD"}, {"git ls-tree --x"}},
      {"git merge-base", {"git merge-base a b"}, {"git merge-base --x"}},
      {"git check-ignore", {"git check-ignore -v a"}, {"git check-ignore --stdin"}},
      {"git stash",
       {"git stash list", "git stash show"},
       {"git stash", "git stash -p list", "git stash pop", "git stash drop", "git stash -u"}},
      {"git worktree", {"git worktree list"}, {"git worktree add x", "git worktree list x"}},
      {"git remote", {"git remote -v"}, {"git remote add x y", "git remote update"}},
      {"git tag", {"git tag -l"}, {"git tag x", "git tag -d x", "git tag -f x"}},
      {"git config",
       {"git config user.name", "git config --get a.b", "git config -l"},
       {"git config a b", "git config --unset a", "git config -e", "git config -f x a"}},
      {"git commit",
       {"git commit -m x", "git commit -qam 'a b'", "git commit --amend --no-edit"},
       {"git commit -S -m x", "git commit --no-verify -m x", "git commit -nm x",
        "git commit -c HEAD", "git commit -t x"}},
      {"git add", {"git add -A", "git add a b"}, {"git add -e", "git add -p", "git add -f x"}},
      {"find",
       {"find . -name x", "find src -type f -mtime -7", "find . -size -10k", "find . -not -empty"},
       {"find . -exec x +", "find . -delete", "find . -fprint x", "find . -ok x", "find -execdir x",
        "find . -fls x", "find . -name -delete", "find . -files0-from x"}},
      {"sed",
       {"sed -n 1,20p a", "sed -n '/a/,/b/p' x", "sed 's/a/b/g' x", "sed -n '5p;9p' x",
        "sed '$d' x"},
       {"sed -i s/a/b/ x", "sed p -i x", "sed -n 'w x' y", "sed 's/a/b/e' x", "sed 's/a/b/w x' y",
        "sed 1e x", "sed -f x y", "sed -e p x", "sed 'r x' y", "sed '1{p}' x",
        "sed --in-place p x"}},
      {"tree", {"tree -L 2 -a"}, {"tree -o x", "tree --fromfile x", "tree -R"}},
      {"jq", {"jq -r .a x"}, {"jq -f x", "jq -L x .", "jq --args x", "jq --rawfile a b ."}},
      {"uniq", {"uniq -c a"}, {"uniq a b"}},
      {"xxd", {"xxd -l 16 a"}, {"xxd a b", "xxd -r a"}},
      {"nl", {"nl -ba a"}, {"nl --x"}},
      {"column", {"column -t -s , a"}, {"column --x"}},
      {"cmp", {"cmp a b"}, {"cmp --x"}},
      {"comm", {"comm -12 a b"}, {"comm --x"}},
      {"join", {"join -t , a b"}, {"join --x"}},
      {"paste", {"paste -d , a b"}, {"paste --x"}},
      {"fold", {"fold -w 80 a"}, {"fold --x"}},
      {"tac", {"tac a"}, {"tac --x"}},
      {"rev", {"rev a"}, {"rev --x"}},
      {"od", {"od -c a"}, {"od --x"}},
      {"hexdump", {"hexdump -C a"}, {"hexdump -f x a"}},
      {"strings", {"strings -n 8 a"}, {"strings @x -T y"}},
      {"file", {"file -b a"}, {"file -C -m x", "file -z a", "file -f x"}},
      {"readlink", {"readlink -f a"}, {"readlink --x"}},
      {"realpath", {"realpath --relative-to=a b"}, {"realpath --x"}},
      {"md5sum", {"md5sum a"}, {"md5sum --x"}},
      {"sha1sum", {"sha1sum a"}, {"sha1sum --x"}},
      {"sha256sum", {"sha256sum -c a"}, {"sha256sum --x"}},
      {"seq", {"seq 1 5"}, {"seq -f x 5"}},
      {"printf", {"printf '%s' a"}, {"printf -v x a"}},
      {"test", {"test -f a", "test a -nt b"}, {"test -v x", "test -o x"}},
      {"date",
       {"date +%s", "date -u -d tomorrow"},
       {"date -s x", "date 010100002026", "date -f x"}},
      {"id", {"id -u"}, {"id --x"}},
      {"whoami", {"whoami"}, {"whoami x"}},
      {"uname", {"uname -a"}, {"uname x"}},
      {"nproc", {"nproc"}, {"nproc x"}},
      {"free", {"free -h"}, {"free -s 1"}},
      {"uptime", {"uptime -p"}, {"uptime x"}},
      {"ps", {"ps aux", "ps -eo pid"}, {"ps --x"}},
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
       {"make test", "make -C x", "make -Cx/y all", "make -j4 test", "make -j", "make -kj2"},
       {"make -f x", "make -C /x", "make -C ../x", "make -C.. x", "make SHELL=/x", "make --eval=x",
        "make -E x", "make CC=x", "make -I x", "make --file=x"}},
      {"ninja",
       {"ninja -C build", "ninja -j4 test"},
       {"ninja -t clean", "ninja -f x", "ninja -C /x", "ninja -C ../x", "ninja -d x"}},
      {"cmake",
       {"cmake --build build -j4", "cmake --build=build --target x", "cmake --preset dev"},
       {"cmake -P x", "cmake -E rm x", "cmake -S . -B x", "cmake --build /x", "cmake -DA=b",
        "cmake .", "cmake --build build -- x", "cmake --install x", "cmake -C x"}},
      {"npm run",
       {"npm run build", "npm run lint -- --fix"},
       {"npm run build x", "npm run --prefix x y", "npm run --script-shell=x y"}},
      {"yarn test", {"yarn test"}, {"yarn test --cwd x"}},
      {"yarn build", {"yarn build"}, {"yarn build x", "yarn build --x"}},
      {"yarn lint", {"yarn lint"}, {"yarn lint x"}},
      {"pnpm test", {"pnpm test"}, {"pnpm test --dir x"}},
      {"pnpm run", {"pnpm run build"}, {"pnpm run -C x build", "pnpm run a b"}},
      {"mvn test", {"mvn test -q"}, {"mvn test -Dexec=x", "mvn test -f x", "mvn test exec:exec"}},
      {"gradle test",
       {"gradle test --tests A"},
       {"gradle test -I x", "gradle test -Px=y", "gradle test -p x", "gradle test run"}},
      {"dotnet build", {"dotnet build -c Release"}, {"dotnet build -p:a=b", "dotnet build -o x"}},
      {"dotnet test", {"dotnet test --no-build"}, {"dotnet test --logger x", "dotnet test -s x"}},
      {"tsc",
       {"tsc --noEmit", "tsc -p a/b.json"},
       {"tsc --outDir x", "tsc -p /x", "tsc --build x"}},
      {"eslint",
       {"eslint src --ext .ts"},
       {"eslint --fix x", "eslint -c x y", "eslint --rulesdir x", "eslint -o x", "eslint -f x y"}},
      {"prettier", {"prettier --check src"}, {"prettier --write x", "prettier --plugin=x y"}},
      {"ruff check", {"ruff check src"}, {"ruff check --fix", "ruff check --config x"}},
      {"mypy", {"mypy src"}, {"mypy --config-file x", "mypy --python-executable x", "mypy @x"}},
      {"flake8", {"flake8 --count src"}, {"flake8 --config x", "flake8 --output-file=x"}},
      {"gofmt", {"gofmt -l ."}, {"gofmt -w .", "gofmt -r x ."}},
      {"clang-format", {"clang-format --dry-run a"}, {"clang-format -i a", "clang-format @x"}},
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
      {"cargo doc", {"cargo doc --workspace"}, {"cargo doc --open"}},
      {"cargo bench", {"cargo bench"}, {"cargo bench --config x"}},
      {"cargo fmt", {"cargo fmt -- --check"}, {"cargo fmt -- --config-path x", "cargo fmt -p x"}},
      {"cargo tree", {"cargo tree --depth 1"}, {"cargo tree --config x"}},
      {"go fmt", {"go fmt ./..."}, {"go fmt -mod=x"}},
      {"go list", {"go list ./..."}, {"go list -toolexec x", "go list -u", "go list -export x"}},
      {"go env", {"go env GOPATH"}, {"go env -w A=b", "go env -u A"}},
      {"go doc", {"go doc fmt"}, {"go doc -C x"}},
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
       {"ctest -R x --output-on-failure", "ctest -j4", "ctest --test-dir build"},
       {"ctest --test-dir /x", "ctest -S x", "ctest -D x", "ctest --build-and-test a b",
        "ctest -T x"}},
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
    if (FindFamily(entry.family)->min_operands == 0) CHECK(Covered(entry.family, families));
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
