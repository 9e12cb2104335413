// Programs that developers use all day work unchanged in a workspace. What is not installed is
// named and left out.

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

struct Work {
  std::string name;
  std::string needs;  // Programs, apart by blanks.
  std::string text;   // Ends with a line `worked`.
  // A member that the profile needs besides those of a workspace.
  std::string opened = {};
  // Whether it works without named semaphores.
  bool on_host = true;
};

const std::vector<Work>& Works() {
  static const std::vector<Work> works = {
      {"gcc and make", "gcc make", R"(
printf 'int main(void) { return 0; }\n' >main.c
printf 'prog: main.c\n\tgcc -O1 -o prog main.c\nall: prog\n' >Makefile
make -s -j2 prog && ./prog && make -s prog && echo worked)"},
      {"cmake", "cmake gcc make", R"(
printf 'int main(void) { return 0; }\n' >main.c
printf 'cmake_minimum_required(VERSION 3.13)\nproject(x C)\nadd_executable(x main.c)\n' >CMakeLists.txt
cmake -S . -B out -G "Unix Makefiles" >log 2>&1 && cmake --build out -j2 >>log 2>&1 && out/x && echo worked || cat log)"},
      {"python3 with venv and multiprocessing", "/usr/bin/python3", R"(
/usr/bin/python3 -m venv --without-pip env || exit
cat >pool.py <<'X'
import multiprocessing
if __name__ == "__main__":
    print(sum(multiprocessing.Pool(2).map(abs, range(-9, 9))))
X
env/bin/python pool.py | grep -qx 81 && echo worked)",
       "", false},
      {"node", "node", R"(
cat >x.js <<'X'
const { spawnSync } = require("child_process");
const { Worker } = require("worker_threads");
const out = spawnSync("echo", ["child"]).stdout.toString();
require("fs").writeFileSync("made", out);
new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true })
  .on("message", () => console.log(out.trim() === "child" ? "worked" : "no child"));
X
node x.js)"},
      {"npm from a local package", "node npm", R"(
mkdir -p part/package app
printf '{"name":"part","version":"1.0.0","main":"index.js"}' >part/package/package.json
printf 'module.exports = "worked";' >part/package/index.js
tar -czf part.tgz -C part package
cd app && printf '{"name":"app","version":"1.0.0"}' >package.json
npm install --offline --no-audit --no-fund --loglevel=error ../part.tgz >log 2>&1 || cat log
node -e 'console.log(require("part"))')"},
      {"java", "java javac", R"(
printf 'class X { public static void main(String[] a) { System.out.println("worked"); } }' >X.java
javac X.java && java -Xmx64m -cp . X)"},
      {"ssh's configuration", "ssh",
       "ssh -G host.test | grep -q '^hostname host.test' && echo worked"},
      {"tar, find, sed and sort", "tar find sed sort seq", R"(
mkdir -p tree/a tree/b && seq 200000 >tree/a/numbers && cp -a tree copy
tar -cf tree.tar tree && rm -r tree && tar -xf tree.tar && cmp tree/a/numbers copy/a/numbers || exit
sed -i 's/^1$/one/' tree/a/numbers && head -n 1 tree/a/numbers | grep -qx one || exit
find tree -type f -name numbers -newer tree.tar | grep -q numbers || exit
sort -r -S 1M copy/a/numbers | head -n 1 | grep -qx 99999 && touch -d 2001-01-01 tree && chmod 700 tree && echo worked)"},
      {"git", "git", R"(
git init -q . && git config user.email a@b.test && git config user.name a || exit
echo 1 >f && git add f && git commit -qm one && echo 2 >f && git stash -q && git stash pop -q || exit
git commit -qam two && git checkout -qb side HEAD~1 && echo 3 >g && git add g && git commit -qm three || exit
git rebase -q master 2>/dev/null || git rebase -q main || exit
git worktree add -q ../side-tree 2>/dev/null || git worktree add -q inner || exit
git gc -q && git clone -q . clone && git -C clone log --oneline | grep -q three && echo worked)"},
      {"cargo", "cargo", R"(
cargo init -q --vcs none --name x . && cargo build -q --offline && target/debug/x | grep -q Hello && echo worked)"},
      {"gdb of its own child", "gdb gcc", R"(
printf 'int answer = 41;\nint main(void) { return answer; }\n' >main.c
gcc -g -O0 -o prog main.c || exit
gdb -nx -batch -ex 'break main' -ex run -ex 'set var answer = 42' -ex continue ./prog >log 2>&1
grep -q 'exited with code 052' log && echo worked || cat log)",
       R"("ack_tracing": true)"},
      {"gdb of a process that runs already", "gdb gcc", R"(
printf '#include <unistd.h>\nint answer = 42;\nint main(void) { for (;;) pause(); }\n' >main.c
gcc -g -O0 -o prog main.c || exit
./prog &
gdb -nx -batch -ex 'print answer' -ex kill -p $! >log 2>&1
grep -qx '$1 = 42' log && echo worked || cat log)",
       R"("ack_tracing": true)"},
      {"strace", "strace", "strace -f -o log true && grep -q execve log && echo worked",
       R"("ack_tracing": true)"},
  };
  return works;
}

bool IsInstalled(const Ground& ground, const std::string& programs) {
  return ground.RunUnconfined("for p in " + programs + "; do command -v $p || exit 1; done")
             .status == 0;
}

// Rust is mostly installed in a home, which is hidden: a profile that wants it shows these folders.
Words ShowRust(Ground& ground) {
  const passwd* const user = getpwuid(getuid());
  const std::string home = user == nullptr ? "" : user->pw_dir;
  const std::string programs = home + "/.cargo/bin";
  if (access((programs + "/cargo").c_str(), X_OK) != 0) return {};
  ground.SetVariable("PATH", programs + ":/usr/bin:/bin");
  ground.SetVariable("RUSTUP_HOME", home + "/.rustup");
  return {"--read", home + "/.cargo", "--read", home + "/.rustup",
          "--env",  "PATH",           "--env",  "RUSTUP_HOME"};
}

Words PolicyFor(const Ground& ground, const Work& work) {
  if (work.opened.empty()) return {};
  const std::string profile = ground.MakeFile(
      ground.root() + "/profile.json",
      R"({"workspace_read": "allow", "workspace_write": "allow", "command": "allow", )" +
          work.opened + "}");
  return {"-p", profile};
}

// Whether the program is here.
bool ExpectToWork(const Work& work, const Words& tier) {
  INFO(work.name);
  Ground ground;
  Words words = tier;
  const auto add = [&words](const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (work.name == "cargo") add(ShowRust(ground));
  if (!IsInstalled(ground, work.needs)) {
    std::cout << "left out: " << work.name << ": " << work.needs << " is not installed here\n";
    return false;
  }
  // What does not work without a sandbox, e.g. for want of a home, says nothing about it.
  (void)ground.MakeFolder("control");
  const Ended control = ground.RunUnconfined("cd control\n" + work.text);
  if (!Has(control.out, "worked")) {
    std::cout << "left out: " << work.name << " does not work here: " << control.err << '\n';
    return false;
  }
  ground.EmptyWorkspace();
  RunOptions options;
  options.limit = std::chrono::seconds(100);
  add(PolicyFor(ground, work));
  add({"-c", work.text});
  const CordonRun result = RunInside(ground, words, options);
  Expect(result, work.name).Status(0).Out("worked");
  return true;
}

TEST_CASE("programs that developers use all day work unchanged in a workspace") {
  int run = 0;
  for (const Work& work : Works()) run += ExpectToWork(work, {}) ? 1 : 0;
  CHECK(run >= 2);
}

TEST_CASE("programs that developers use all day work in the landlock tier, too") {
  const Words tier = {"--backend", "landlock"};
  {
    const Ground ground;
    const CordonRun probe = RunText(ground, tier, "true");
    if (probe.status != 0) CORDON_SKIP("landlock", probe.err);
  }
  int run = 0;
  for (const Work& work : Works()) {
    if (work.on_host && work.opened.empty()) run += ExpectToWork(work, tier) ? 1 : 0;
  }
  CHECK(run >= 2);
}

}  // namespace
}  // namespace cordon::test
