// Commands without a view that are restricted by a ruleset which was made once for all of a plan
// (launcher/rulesets.h), and sandboxes without a view that are made ahead.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "executor_testing.h"
#include "landlock_abi.h"
#include "landlock_testing.h"
#include "output_pump.h"
#include "plan_sources.h"
#include "ready_sandboxes.h"
#include "sandbox_testing.h"
#include "seccomp_program.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kReadAndExecute = kLandlockReadFile | kLandlockReadDir | kLandlockExecute;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The system can be read, and `folder`/shown be read and written.
SandboxPlan PlanOnHost(const TemporaryFolder& folder) {
  SandboxPlan plan;
  plan.namespaces = false;
  plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
  plan.landlock_scoped = LandlockScopesOf(QueryLandlockAbi());
  for (const char* const path : {"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"}) {
    plan.landlock_rules.push_back({path, kReadAndExecute, true});
  }
  plan.landlock_rules.push_back({"/dev/null", plan.landlock_handled_fs, false});
  plan.landlock_rules.push_back({folder / "shown", plan.landlock_handled_fs, false});
  plan.seccomp_program = CompileSeccompProgram().value();
  return plan;
}

// What reads and writes below `path`, and says whether it could.
std::string Attempt(const std::string& path) {
  return "(cat " + path + "/name) 2>/dev/null || echo closed; (echo >" + path +
         "/planted) 2>/dev/null || echo not written; ";
}

// Commands of one plan.
class Restricted {
 public:
  explicit Restricted(const SandboxPlan& plan) : id_(launcher_->AddPlan(plan).value()) {}

  SpawnedSandbox Start(const std::string& text, int output) {
    SpawnPlace place;
    place.template_plan = id_;
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    auto spawned = launcher_->Spawn(id_, Shell(text), null.get(), output, output, place);
    REQUIRE(spawned.ok());
    return *std::move(spawned);
  }

  std::string Output(const std::string& text) {
    Pipe pipe = MakePipe().value();
    const SpawnedSandbox spawned = Start(text, pipe.writer.get());
    launcher_process_ = ParentOf(spawned);
    pipe.writer.Reset();
    std::string output = ReadAll(pipe.reader.get());
    CHECK(ReadEvents(spawned.channel.get()).size() == 2);
    CHECK(WaitReadable(spawned.pidfd.get()));
    return output;
  }

  // Until the launcher has a ruleset, which the next command then is restricted by.
  [[nodiscard]] bool Await() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
      (void)Output("true");
      if (HasRuleset(launcher_process_)) return true;
    } while (std::chrono::steady_clock::now() < deadline);
    return false;
  }

  void Remove() { launcher_->RemovePlan(id_); }

 private:
  // Which is the launcher.
  static std::string ParentOf(const SpawnedSandbox& spawned) {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(spawned.pidfd.get()));
    const std::string pid = Field(std::string(std::istreambuf_iterator<char>(info), {}), "Pid");
    std::ifstream status("/proc/" + pid + "/status");
    return Field(std::string(std::istreambuf_iterator<char>(status), {}), "PPid");
  }
  static bool HasRuleset(const std::string& process) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator("/proc/" + process + "/fd", failed)) {
      const std::string target = fs::read_symlink(entry, failed).string();
      if (target.find("landlock-ruleset") != std::string::npos) return true;
    }
    return false;
  }

  const std::shared_ptr<Launcher> launcher_ = StartedLauncherOrFail();
  const std::uint32_t id_;
  std::string launcher_process_;
};

std::optional<std::string> OutputIn(ReadySandboxes& ready, const std::string& text) {
  Pipe pipe = MakePipe().value();
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  std::optional<StartedInReady> started =
      ready.Start(Shell(text), null.get(), pipe.writer.get(), pipe.writer.get());
  pipe.writer.Reset();
  if (!started.has_value()) return std::nullopt;
  std::string output = ReadAll(pipe.reader.get());
  CHECK(ReadEvents(started->sandbox.channel.get()).size() == 2);
  CHECK(WaitReadable(started->sandbox.pidfd.get()));
  return output;
}

TEST_CASE("commands are confined by a ruleset that was made once as by one of their own") {
  NEEDS_SCOPED_LANDLOCK();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  fs::create_directory(folder / "other");
  Write(folder / "shown/name", "shown\n");
  Write(folder / "other/name", "SECRET\n");
  const std::string attack = Attempt(folder / "shown") + Attempt(folder / "other") + "kill -0 " +
                             std::to_string(getpid()) + " 2>/dev/null && echo SIGNAL";
  const std::string confined = "shown\nclosed\nnot written\n";
  const SandboxPlan plan = PlanOnHost(folder);
  CHECK(Run(plan, attack).output == confined);
  Restricted commands(plan);
  REQUIRE(commands.Await());
  CHECK(commands.Output(attack) == confined);
  CHECK(commands.Output(attack) == confined);

  SandboxPlan control = plan;
  control.confined = false;
  CHECK(Run(control, attack).output == "shown\nSECRET\nSIGNAL\n");
}

TEST_CASE("commands that are restricted by one ruleset cannot signal each other") {
  NEEDS_SCOPED_LANDLOCK();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  Restricted commands(PlanOnHost(folder));
  REQUIRE(commands.Await());
  Pipe pipe = MakePipe().value();
  const SpawnedSandbox victim = commands.Start("echo $$; read line <&1", pipe.writer.get());
  REQUIRE(WaitReadable(pipe.reader.get()));
  std::string pid(32, '\0');
  pid.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, read(pipe.reader.get(), pid.data(), pid.size()))));
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  REQUIRE(pid.find_first_not_of("0123456789") == std::string::npos);
  CHECK(commands.Output("kill -0 " + pid +
                        " 2>/dev/null && echo SIGNAL; sleep 100 & "
                        "kill $! && echo own") == "own\n");
}

TEST_CASE("no command has a descriptor of a ruleset") {
  NEEDS_SCOPED_LANDLOCK();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  const SandboxPlan plan = PlanOnHost(folder);
  const std::string show =
      "ls -l /proc/self/fd | grep -c -- '->'; "
      "ls -l /proc/self/fd | grep landlock; exec 9</usr; ls /proc/self/fd/9 >"
      "/dev/null && echo control";
  Restricted commands(plan);
  REQUIRE(commands.Await());
  const std::string expected = Run(plan, show).output;
  CHECK(expected == "4\ncontrol\n");
  CHECK(commands.Output(show) == expected);

  ReadySandboxes ready(StartedLauncherOrFail(), plan, 1);
  for (int i = 0; i < 3; ++i) {  // The last ones with a ruleset that was made before.
    ready.Refill();
    CHECK(OutputIn(ready, show) == expected);
  }
}

TEST_CASE("a ruleset is about objects, and so is used only while the paths lead to them") {
  NEEDS_SCOPED_LANDLOCK();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  Write(folder / "shown/name", "first\n");
  const SandboxPlan plan = PlanOnHost(folder);
  const std::string attack = Attempt(folder / "shown") + Attempt(folder / "away");
  Restricted unchecked(plan);
  REQUIRE(unchecked.Await());
  ReadySandboxes ready(StartedLauncherOrFail(), plan, 1);
  ready.Refill();
  Write(folder / "beside", "which changes the folder, but no path");
  CHECK(OutputIn(ready, "cat " + (folder / "shown/name")) == "first\n");
  ready.Refill();

  fs::rename(folder / "shown", folder / "away");
  fs::create_directory(folder / "shown");
  Write(folder / "shown/name", "second\n");
  // The control: whoever does not look at the paths has the old object, and not the new one.
  CHECK(unchecked.Output(attack) == "closed\nnot written\nfirst\n");
  fs::remove(folder / "away/planted");

  CHECK_FALSE(OutputIn(ready, attack).has_value());
  ready.Refill();
  CHECK(OutputIn(ready, attack) == "second\nclosed\nnot written\n");
}

TEST_CASE("a sandbox without a view that was made ahead has the rules' objects or is none") {
  NEEDS_SCOPED_LANDLOCK();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  fs::create_directory(folder / "other");
  SandboxPlan plan = PlanOnHost(folder);
  plan.landlock_rules.push_back({folder / "later", plan.landlock_handled_fs, true});
  PlanSources sources(plan);
  CHECK(Run(plan, "true").exit_code() == 0);
  const auto is_refused = [&plan] {
    const Ran ran = Run(plan, "true");
    return ran.failure() != nullptr && ran.failure()->step == Step::kLandlock &&
           ran.failure()->error_number == ESTALE;
  };
  fs::rename(folder / "shown", folder / "away");
  fs::rename(folder / "other", folder / "shown");
  CHECK(is_refused());
  fs::rename(folder / "shown", folder / "other");
  fs::rename(folder / "away", folder / "shown");
  CHECK(sources.StillHold());
  CHECK(Run(plan, "true").exit_code() == 0);
  fs::create_directory(folder / "later");
  CHECK(is_refused());
  CHECK_FALSE(sources.StillHold());
}

TEST_CASE("an executor without a view follows a replaced workspace, whatever was made before") {
  NEED_ON_HOST();
  for (const std::size_t count : {0, 2}) {
    OnHostFixture fixture;
    fixture.options.ready_sandboxes = count;
    const std::string workspace = fixture.workspace();
    const TemporaryFolder aside;
    Write(workspace + "/name", "first\n");
    const std::string away = aside / "away";
    const std::string attack = Attempt(workspace) + Attempt(away);
    for (int i = 0; i < 4; ++i) {
      CHECK(fixture.Shell(attack).standard_output.head == "first\nclosed\nnot written\n");
    }
    fs::rename(workspace, away);
    fs::create_directory(workspace);
    Write(workspace + "/name", "second\n");
    for (int i = 0; i < 4; ++i) {
      CHECK(fixture.Shell(attack).standard_output.head == "second\nclosed\nnot written\n");
    }
    CHECK(FirstLine(away + "/name") == "first");
  }
}

}  // namespace
}  // namespace cordon::internal::testing
