// Sandboxes that start from a copy of what all of their plan share (launcher/view_template.h).

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "executor_testing.h"
#include "landlock_abi.h"
#include "output_pump.h"
#include "sandbox_testing.h"
#include "seccomp_program.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// One plan, whose sandboxes start from its template once that is there.
class Templated {
 public:
  explicit Templated(const SandboxPlan& plan) : id_(launcher_->AddPlan(plan).value()) {}

  std::string Output(const std::string& text) {
    SpawnPlace place;
    place.template_plan = id_;
    Pipe pipe = MakePipe().value();
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    auto spawned =
        launcher_->Spawn(id_, Shell(text), null.get(), pipe.writer.get(), pipe.writer.get(), place);
    pipe.writer.Reset();
    REQUIRE(spawned.ok());
    std::string output = ReadAll(pipe.reader.get());
    const std::vector<SpawnEvent> events = ReadEvents(spawned->channel.get());
    CHECK(events.size() == 2);
    CHECK(WaitReadable(spawned->pidfd.get()));
    return output;
  }

  // What can be written to is no part of a template: /dev/shm is a file system of its own then.
  bool StartsFromTemplate() {
    return Output("[ $(stat -c %d /dev/shm) = $(stat -c %d /) ] || echo own") == "own\n";
  }

  // False when this kernel cannot copy what is attached nowhere.
  bool Await() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!StartsFromTemplate()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }

  void Remove() { launcher_->RemovePlan(id_); }

 private:
  const std::shared_ptr<Launcher> launcher_ = StartedLauncherOrFail();
  const std::uint32_t id_;
};

#define NEEDS_TEMPLATES(templated) \
  NEEDS_NAMESPACES();              \
  if (!(templated).Await()) CORDON_SKIP("templates", "no template: before Linux 6.15?")

SandboxPlan PlanWithOwnFiles() {
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Op(ViewOp::Kind::kFile, "/own/file"));
  plan.view.back().data = "own\n";
  plan.view.back().mode = 0644;
  return plan;
}

TEST_CASE("a sandbox from a template is the same as a new one") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "kept/inside");
  Write(folder / "secret", "secret");
  SandboxPlan plan = PlanWithOwnFiles();
  plan.view.push_back(Bind(folder.path(), false));
  plan.view.back().target = "/data";
  plan.view.push_back(Op(ViewOp::Kind::kPin, "/data/kept"));
  plan.view.back().source = "/data";
  plan.view.push_back(Op(ViewOp::Kind::kProtect, "/data/kept/inside"));
  plan.view.push_back(Op(ViewOp::Kind::kMask, "/data/secret"));
  plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
  plan.landlock_scoped = LandlockScopesOf(QueryLandlockAbi());
  if (plan.landlock_handled_fs != 0) {
    plan.landlock_rules = {{"/", plan.landlock_handled_fs, false}};
  }
  plan.seccomp_program = CompileSeccompProgram().value();
  Templated templated(plan);
  NEEDS_TEMPLATES(templated);
  const std::string show =
      "grep -E 'Cap|NoNew|Seccomp|Sig|Groups|Threads|NStgid' /proc/self/status; umask; ulimit -a; "
      "ls -l /proc/self/fd | wc -l; stat -c '%n %A %u %g %s' /* /dev/* /own/* /data/* 2>&1; "
      "cut -d' ' -f4- /proc/self/mountinfo | grep -v /dev/shm | "
      "sort; hostname; cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups; "
      "wc -l </proc/net/dev; id; ls /dev/shm /tmp; cat /data/secret /proc/kcore 2>&1; "
      "mv /data/kept /data/x 2>&1; touch /data/kept/inside/x 2>&1; set -- /proc/[0-9]*; echo $#";
  const std::string output = templated.Output(show);
  CHECK(output.find("busy") != std::string::npos);
  CHECK(output.find("Read-only") != std::string::npos);
  CHECK(output == Run(plan, show).output);
}

TEST_CASE(
    "Landlock's rules in a sandbox from a template are about what is shared and what is its own") {
  const std::uint64_t all = LandlockRightsOf(QueryLandlockAbi());
  if (all == 0) CORDON_SKIP("Landlock", "the kernel has none");
  const TemporaryFolder folder;
  fs::create_directories(folder / "open");
  fs::create_directories(folder / "closed");
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), false));
  plan.view.back().target = "/data";
  for (const char* own : {"/mine", "/mine/below", "/others"}) {
    plan.view.push_back(
        Op(std::string(own) == "/mine/below" ? ViewOp::Kind::kDir : ViewOp::Kind::kTmpfs, own));
    plan.view.back().mode = 0755;
  }
  plan.landlock_handled_fs = all;
  constexpr std::uint64_t kExecuteAndRead = 1U << 0U | 1U << 2U | 1U << 3U;
  plan.landlock_rules = {{"/", kExecuteAndRead, false}, {"/data/open", all, false},
                         {"/mine/below", all, false},   {"/dev/null", all, false},
                         {"/dev/shm", all, false},      {"/missing", all, true}};
  Templated templated(plan);
  NEEDS_NAMESPACES();
  const std::string show =
      "for place in /data/open /data/closed /mine /mine/below /others /dev/shm; do "
      "(echo x >$place/x) 2>/dev/null && echo $place; done";
  const std::string allowed = "/data/open\n/mine/below\n/dev/shm\n";
  CHECK(Run(plan, show).output == allowed);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool from_template = false;
  while (!from_template && std::chrono::steady_clock::now() < deadline) {
    const std::string output =
        templated.Output(show + "; [ $(stat -c %d /dev/shm) = $(stat -c %d /) ] || echo own");
    from_template = output == allowed + "own\n";
    if (!from_template) REQUIRE(output == allowed);
  }
  if (!from_template) CORDON_SKIP("templates", "no template: before Linux 6.15?");
  plan.landlock_handled_fs = 0;  // The control.
  plan.landlock_rules.clear();
  CHECK(Run(plan, show).output ==
        "/data/open\n/data/closed\n/mine\n/mine/below\n/others\n/dev/shm\n");
}

TEST_CASE("nothing that a command does in a sandbox from a template is seen in the next one") {
  Templated templated(PlanWithOwnFiles());
  NEEDS_TEMPLATES(templated);
  const std::string look =
      "find / -xdev ! -path '/proc*' ! -path '/dev/[ps]*' ! -path '/tmp*' -exec stat -c '%n %a %u "
      "%s %Z %h' {} + | sort; cat /own/file;"
      "find /dev/shm /tmp -mindepth 1; hostname; stat -c '%n %a %u %t' /dev/pts/*; sysctl -n "
      "kernel.sem 2>&1";
  const std::string before = templated.Output(look);
  CHECK(before.find("/own/file") != std::string::npos);
  CHECK(templated.Output(
            "echo 1 >/dev/shm/left && echo 1 >/tmp/left && cat /dev/shm/left /tmp/left; "
            "for place in / /own /dev /run /etc /.cordon /dev/pts /proc; do touch $place/x; "
            "ln -s x $place/y; mkdir $place/z; chmod 0777 $place; done 2>/dev/null; "
            "for file in /own/file /.cordon/file; do echo x >>$file; chmod 0777 $file; rm $file; "
            "mv $file /own/x; done 2>/dev/null; mount -t tmpfs x /own 2>/dev/null; "
            "mount -o remount,rw / 2>/dev/null; umount /proc 2>/dev/null; hostname x 2>/dev/null; "
            "echo tried") == "1\n1\ntried\n");
  CHECK(templated.StartsFromTemplate());
  CHECK(templated.Output(look) == before);
}

TEST_CASE("what the host removed from under a template is not missing in the next sandbox") {
  const TemporaryFolder folder;
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), false));
  plan.view.back().target = "/data";
  Write(folder / "protected", "p\n");
  Write(folder / "masked", "m\n");
  fs::create_directory(folder / "pinned");
  plan.view.push_back(Op(ViewOp::Kind::kProtect, "/data/protected"));
  plan.view.push_back(Op(ViewOp::Kind::kMask, "/data/masked"));
  plan.view.push_back(Op(ViewOp::Kind::kPin, "/data/pinned"));
  plan.view.back().source = "/data";
  Templated templated(plan);
  NEEDS_TEMPLATES(templated);
  const std::string attack =
      "{ echo x >>/data/protected && echo WRITTEN; cat /data/masked; mv /data/pinned /data/moved "
      "&& "
      "echo MOVED; touch /data/free && echo free; } 2>/dev/null";
  CHECK(templated.Output(attack) == "free\n");

  // The same object under the same name, so that its identity tells nothing.
  for (const std::string name : {"protected", "masked"}) {
    CAPTURE(name);
    fs::create_hard_link(folder / name, folder / "other");
    fs::remove(folder / name);
    fs::rename(folder / "other", folder / name);
    CHECK(templated.Output(attack) == "free\n");
    CHECK(templated.Await());
    CHECK(templated.Output(attack) == "free\n");
  }
}

TEST_CASE("a folder that took the place of a pinned one is pinned, too") {
  const TemporaryFolder folder;
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), false));
  plan.view.back().target = "/data";
  fs::create_directory(folder / "pinned");
  plan.view.push_back(Op(ViewOp::Kind::kPin, "/data/pinned"));
  plan.view.back().source = "/data";
  Templated templated(plan);
  NEEDS_TEMPLATES(templated);
  const std::string attack = "mv /data/pinned /data/moved 2>/dev/null && echo MOVED; echo end";
  CHECK(templated.Output(attack) == "end\n");
  fs::rename(folder / "pinned", folder / "away");
  fs::create_directory(folder / "pinned");
  CHECK(templated.Output(attack) == "end\n");
  CHECK(templated.Await());
  CHECK(templated.Output(attack) == "end\n");
}

TEST_CASE("a view whose places depend on what each sandbox makes for itself has no template") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder.path(), false));
  plan.view.back().target = "/tmp/inside";
  Templated templated(plan);
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(templated.StartsFromTemplate());
    CHECK(templated.Output("touch /tmp/inside/made && echo ok") == "ok\n");
  }
}

TEST_CASE("commands that share a network start from a template in it") {
  NEEDS_NAMESPACES();
  SandboxFixture fixture;
  fixture.options.ready_sandboxes = 0;
  fixture.options.share_network = true;
  const std::string show =
      "readlink /proc/self/ns/net; [ $(stat -c %d /dev/shm) = $(stat -c %d /) ] || echo own";
  const std::string first = fixture.Shell(show).standard_output.head;
  CHECK(first.starts_with("net:["));
  std::string last;
  for (int i = 0; i < 20; ++i) {
    last = fixture.Shell(show).standard_output.head;
    CHECK(last.starts_with(first));
  }
  if (last == first) CORDON_SKIP("templates", "no template: before Linux 6.15?");
  CHECK(last == first + "own\n");
  CHECK(fixture
            .Shell("umount /proc; mount -t tmpfs x /tmp; nsenter -t 1 -m true; unshare -r true; "
                   "echo $(wc -l </proc/self/mountinfo)")
            .standard_output.head ==
        fixture.Shell("echo $(wc -l </proc/self/mountinfo)").standard_output.head);
}

TEST_CASE("an executor's commands start from a template, and are confined as the first was") {
  NEEDS_NAMESPACES();
  SandboxFixture fixture;
  fixture.options.ready_sandboxes = 0;
  Write(fixture.workspace() + "/.envrc", "mine\n");
  fs::create_directories(fixture.workspace() + "/.vscode");
  const std::string attack =
      "{ echo x >>.envrc; mv .envrc y; touch .vscode/x; rm -r .vscode; touch /etc/x; cat .envrc; "
      "ls -A; } 2>/dev/null; [ $(stat -c %d /dev/shm) = $(stat -c %d /) ] || echo own";
  const std::string first = fixture.Shell(attack).standard_output.head;
  CHECK(first == "mine\n.envrc\n.vscode\n");
  std::string last;
  for (int i = 0; i < 20; ++i) {
    last = fixture.Shell(attack).standard_output.head;
    CHECK(last.starts_with(first));
  }
  if (last == first) CORDON_SKIP("templates", "no template: before Linux 6.15?");

  // Made by the host after the template was.
  Write(fixture.workspace() + "/.gitmodules", "g\n");
  CHECK(
      fixture.Shell("echo x >>.gitmodules && echo WRITTEN; cat .gitmodules").standard_output.head ==
      "g\n");
  fs::create_hard_link(fixture.workspace() + "/.envrc", fixture.workspace() + "/other");
  fs::remove(fixture.workspace() + "/.envrc");
  fs::rename(fixture.workspace() + "/other", fixture.workspace() + "/.envrc");
  for (int i = 0; i < 4; ++i) {
    CHECK(fixture.Shell("echo x >>.envrc; cat .envrc").standard_output.head == "mine\n");
  }
}

}  // namespace
}  // namespace cordon::internal::testing
