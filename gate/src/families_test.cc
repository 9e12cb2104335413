#include "families.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "command_match.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

bool Covered(std::string_view text, const std::vector<std::string>& families) {
  return CoverWithFamilies(ReadShellText(text), families).has_value();
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
