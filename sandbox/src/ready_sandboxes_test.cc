#include "ready_sandboxes.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "cordon/sdk/status.h"
#include "descriptor_message.h"
#include "executor_testing.h"
#include "landlock_abi.h"
#include "output_pump.h"
#include "sandbox_testing.h"
#include "seccomp_program.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

namespace fs = std::filesystem;

// What a command in `ready` wrote; nothing when none was waiting.
std::optional<std::string> OutputIn(ReadySandboxes& ready, const CommandPlan& command) {
  Pipe pipe = MakePipe().value();
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  std::optional<StartedInReady> started =
      ready.Start(command, null.get(), pipe.writer.get(), pipe.writer.get());
  pipe.writer.Reset();
  if (!started.has_value()) return std::nullopt;
  std::string output = ReadAll(pipe.reader.get());
  const std::vector<SpawnEvent> events = ReadEvents(started->sandbox.channel.get());
  CHECK(events.size() == 2);
  CHECK(WaitReadable(started->sandbox.pidfd.get()));
  return output;
}

std::optional<std::string> OutputIn(ReadySandboxes& ready, const std::string& text) {
  return OutputIn(ready, Shell(text));
}

// With all that a real plan has.
SandboxPlan ConfinedPlan() {
  SandboxPlan plan = SystemPlan();
  plan.landlock_handled_fs = LandlockRightsOf(QueryLandlockAbi());
  plan.landlock_scoped = LandlockScopesOf(QueryLandlockAbi());
  if (plan.landlock_handled_fs != 0) {
    plan.landlock_rules = {{"/", plan.landlock_handled_fs, false}};
  }
  plan.seccomp_program = CompileSeccompProgram().value();
  return plan;
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST_CASE(
    "a command starts in a sandbox that was made before, and none is left of it for the next") {
  NEEDS_NAMESPACES();
  ReadySandboxes ready(StartedLauncherOrFail(), SystemPlan(), 2);
  CHECK_FALSE(OutputIn(ready, "echo none was made yet").has_value());
  ready.Refill();
  CHECK(OutputIn(ready, "echo $$ >/tmp/mine; sleep 100 & cat /tmp/mine") == "2\n");
  CHECK(OutputIn(ready, "cat /tmp/mine 2>/dev/null; ps -e 2>/dev/null | grep -c sleep; echo $$") ==
        "0\n2\n");
  CHECK_FALSE(OutputIn(ready, "echo both are used up").has_value());
  ready.Refill();
  CHECK(OutputIn(ready, "echo again") == "again\n");
}

TEST_CASE("a command in a ready sandbox is confined as one in a new sandbox is") {
  NEEDS_NAMESPACES();
  const SandboxPlan plan = ConfinedPlan();
  const std::string show =
      "grep -E 'Cap|NoNew|Seccomp|Sig|Groups|Threads' /proc/self/status; umask; ls -l /proc/self/fd"
      " | wc -l; ls /; cut -d' ' -f4- /proc/self/mountinfo | sed 's/ shared:[0-9]*//'; "
      "ulimit -a; hostname; cat /proc/self/uid_map; cat /proc/net/dev | wc -l; id -u";
  ReadySandboxes ready(StartedLauncherOrFail(), plan, 1);
  ready.Refill();
  const std::optional<std::string> output = OutputIn(ready, show);
  REQUIRE(output.has_value());
  CHECK(output->find("NoNewPrivs:\t1") != std::string::npos);
  CHECK(output->find("Seccomp:\t2") != std::string::npos);
  CHECK(*output == Run(plan, show).output);
}

TEST_CASE("a sandbox that was made before is given up when a path leads to another object") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  Write(folder / "shown/name", "first\n");
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder / "shown", false));
  plan.view.back().target = "/data";
  ReadySandboxes ready(StartedLauncherOrFail(), plan, 1);

  ready.Refill();
  Write(folder / "beside", "which changes the folder, but nothing that is shown");
  CHECK(OutputIn(ready, "cat /data/name") == "first\n");

  ready.Refill();
  fs::rename(folder / "shown", folder / "away");
  fs::create_directory(folder / "shown");
  Write(folder / "shown/name", "second\n");
  CHECK_FALSE(OutputIn(ready, "cat /data/name").has_value());
  ready.Refill();
  CHECK(OutputIn(ready, "cat /data/name") == "second\n");
}

TEST_CASE("a ready sandbox never shows what a path led to only while it was made") {
  NEEDS_NAMESPACES();
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  fs::create_directory(folder / "other");
  SandboxPlan plan = SystemPlan();
  plan.view.push_back(Bind(folder / "shown", false));
  PlanSources sources(plan);
  fs::rename(folder / "shown", folder / "away");
  fs::rename(folder / "other", folder / "shown");
  const Ran ran = Run(plan, "true");
  REQUIRE(ran.failure() != nullptr);
  CHECK(ran.failure()->error_number == ESTALE);
  fs::rename(folder / "shown", folder / "other");
  fs::rename(folder / "away", folder / "shown");
  CHECK(Run(plan, "true").exit_code() == 0);
  CHECK(sources.StillHold());
}

TEST_CASE("what was checked for a command just now is not asked for again, and nothing else") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "shown");
  SandboxPlan plan;
  plan.view.push_back(Bind(folder / "shown", false));
  const auto checked = [](const std::string& path, std::uint64_t version,
                          std::chrono::milliseconds ago) {
    return CheckedFolders{version, std::chrono::steady_clock::now() - ago,
                          std::make_shared<const std::set<std::string>>(std::set{path})};
  };
  const auto holds_later = [&](const CheckedFolders& first, const CheckedFolders& second) {
    PlanSources sources(plan);
    CHECK(sources.StillHold(first));
    fs::rename(folder / "shown", folder / "away");
    const bool holds = sources.StillHold(second);
    fs::rename(folder / "away", folder / "shown");
    return holds;
  };
  constexpr std::chrono::milliseconds kLong{10'000};
  const auto here = [&](std::uint64_t version, std::chrono::milliseconds ago) {
    return checked(folder.path(), version, ago);
  };
  const auto below = [&] { return checked(folder / "shown", 7, {}); };
  // As if somebody were wrong about it: it is not asked for.
  CHECK(holds_later(here(7, {}), here(7, {})));
  CHECK_FALSE(holds_later(here(7, {}), here(8, {})));
  CHECK_FALSE(holds_later(here(7, {}), here(7, kLong)));
  CHECK_FALSE(holds_later(here(7, kLong), here(7, {})));
  CHECK_FALSE(holds_later({}, here(7, {})));
  CHECK_FALSE(holds_later(here(7, {}), {}));
  CHECK_FALSE(holds_later(below(), below()));
}

TEST_CASE("a ready sandbox is given up when what it covers or protects was replaced") {
  NEEDS_NAMESPACES();
  for (const ViewOp::Kind kind : {ViewOp::Kind::kProtect, ViewOp::Kind::kMask}) {
    const TemporaryFolder folder;
    fs::create_directory(folder / "hooks");
    SandboxPlan plan = SystemPlan();
    plan.view.push_back(Bind(folder.path(), false));
    plan.view.back().target = "/data";
    plan.view.push_back(Op(kind, "/data/hooks"));
    ReadySandboxes ready(StartedLauncherOrFail(), plan, 1);
    const std::string attack = "touch /data/hooks/planted 2>/dev/null && echo PLANTED; echo end";
    ready.Refill();
    CHECK(OutputIn(ready, attack) == "end\n");
    ready.Refill();
    fs::rename(folder / "hooks", folder / "old");
    fs::create_directory(folder / "hooks");
    CHECK_FALSE(OutputIn(ready, attack).has_value());
    CHECK(Run(plan, attack).output == "end\n");
    ready.Refill();
    CHECK(OutputIn(ready, attack) == "end\n");
    CHECK(fs::is_empty(folder / "hooks"));
  }
}

// As by an editor that saves a file: file systems give the number of what was removed to what is
// made next, and the mount on it is gone.
TEST_CASE("a ready sandbox is given up when what it covers was removed and made again") {
  NEEDS_NAMESPACES();
  for (const ViewOp::Kind kind : {ViewOp::Kind::kProtect, ViewOp::Kind::kMask}) {
    const TemporaryFolder folder;
    Write(folder / "file", "TEXT\n");
    SandboxPlan plan = SystemPlan();
    plan.view.push_back(Bind(folder.path(), false));
    plan.view.back().target = "/data";
    plan.view.push_back(Op(kind, "/data/file"));
    ReadySandboxes ready(StartedLauncherOrFail(), plan, 1);
    const std::string attack = "echo PLANTED >>/data/file; grep -c PLANTED /data/file";
    for (int i = 0; i < 3; ++i) {
      ready.Refill();
      CHECK(OutputIn(ready, "echo waited") == "waited\n");
      ready.Refill();
      fs::remove(folder / "file");
      Write(folder / "file", "TEXT\n");
      CHECK_FALSE(OutputIn(ready, attack).has_value());
    }
    ready.Refill();
    CHECK(OutputIn(ready, attack) != "1\n");
    CHECK(fs::file_size(folder / "file") == 5);
  }
}

TEST_CASE("a waiting sandbox ends when nobody can send it a command any more") {
  NEEDS_NAMESPACES();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  const std::uint32_t plan = launcher->AddPlan(SystemPlan()).value();
  const auto ready_on = [](const UniqueFd& channel) {
    UniqueFd pidfd;
    SpawnEvent event;
    REQUIRE(WaitReadable(channel.get()));
    REQUIRE(ReceiveMessage(channel.get(), &event, sizeof(event), &pidfd) == sizeof(event));
    REQUIRE(event.kind == SpawnEvent::Kind::kReady);
    REQUIRE(pidfd.valid());
    return pidfd;
  };
  UniqueFd first = launcher->Prepare(plan).value().channel;
  const UniqueFd second = launcher->Prepare(plan).value().channel;
  const UniqueFd first_pidfd = ready_on(first);
  const UniqueFd second_pidfd = ready_on(second);
  CHECK_FALSE(ReadableNow(first_pidfd.get()));
  first.Reset();
  CHECK(WaitReadable(first_pidfd.get()));
  CHECK_FALSE(ReadableNow(second_pidfd.get()));
  launcher->Stop();
  CHECK(WaitReadable(second_pidfd.get()));
}

TEST_CASE("a waiting sandbox takes nothing but a whole command") {
  NEEDS_NAMESPACES();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  const std::uint32_t plan = launcher->AddPlan(SystemPlan()).value();
  const auto answer = [&](std::string_view bytes) {
    const UniqueFd channel = launcher->Prepare(plan).value().channel;
    REQUIRE(SendMessage(channel.get(), bytes, {}, {}) == 0);
    std::vector<SpawnEvent> events = ReadEvents(channel.get());
    REQUIRE_FALSE(events.empty());
    CHECK(events.front().kind == SpawnEvent::Kind::kReady);
    return events.back();
  };
  const SpawnEvent refused = answer("x");
  CHECK(refused.kind == SpawnEvent::Kind::kFailed);
  CHECK(refused.step == Step::kPlan);
  CHECK(answer(std::string(64, '\1')).kind == SpawnEvent::Kind::kFailed);

  // A plan that nobody registered.
  const UniqueFd channel = launcher->Prepare(plan + 1).value().channel;
  const std::vector<SpawnEvent> events = ReadEvents(channel.get());
  REQUIRE(events.size() == 1);
  CHECK(events.front().step == Step::kPlan);
}

TEST_CASE(
    "a command that fits into no message, and one that cannot be executed, in a ready sandbox") {
  NEEDS_NAMESPACES();
  ReadySandboxes ready(StartedLauncherOrFail(), SystemPlan(), 2);
  ready.Refill();
  CommandPlan large = Shell("echo ${#LARGE}");
  large.environment.push_back("LARGE=" + std::string(100'000, 'x'));
  CHECK(OutputIn(ready, large) == "100000\n");
  CommandPlan missing = Shell("");
  missing.argv = {"/nowhere"};
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto started = ready.Start(missing, null.get(), null.get(), null.get());
  REQUIRE(started.has_value());
  const std::vector<SpawnEvent> events = ReadEvents(started->sandbox.channel.get());
  REQUIRE(events.size() == 1);
  CHECK(events.front().step == Step::kExec);
  CHECK(events.front().error_number == ENOENT);
}

TEST_CASE(
    "the sandbox that proves that a plan can be had serves the first command, and fails first") {
  NEEDS_NAMESPACES();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  ReadySandboxes ready(launcher, SystemPlan(), 0);
  REQUIRE(ready.Prove().ok());
  CHECK(OutputIn(ready, "echo first") == "first\n");
  ready.Refill();
  CHECK_FALSE(OutputIn(ready, "echo second").has_value());

  SandboxPlan impossible = SystemPlan();
  impossible.view.push_back(Bind("/nowhere", true));
  const absl::Status failed = ReadySandboxes(launcher, impossible, 0).Prove();
  CHECK(Is(failed, ErrorCode::kSetupFailed));
  CHECK(ErrorOf(failed)->step == StepName(Step::kView));
  impossible = SystemPlan();
  impossible.seccomp_program = "no program";
  CHECK_FALSE(ReadySandboxes(launcher, impossible, 0).Prove().ok());
}

TEST_CASE("after Close none waits and none is made") {
  NEEDS_NAMESPACES();
  ReadySandboxes ready(StartedLauncherOrFail(), SystemPlan(), 2);
  ready.Refill();
  ready.Close();
  CHECK_FALSE(OutputIn(ready, "true").has_value());
  ready.Refill();
  CHECK_FALSE(OutputIn(ready, "true").has_value());
}

TEST_CASE("a waiting sandbox is small") {
  NEEDS_NAMESPACES();
  const std::shared_ptr<Launcher> launcher = StartedLauncherOrFail();
  const std::uint32_t plan = launcher->AddPlan(ConfinedPlan()).value();
  const UniqueFd channel = launcher->Prepare(plan).value().channel;
  UniqueFd pidfd;
  SpawnEvent event;
  REQUIRE(WaitReadable(channel.get()));
  REQUIRE(ReceiveMessage(channel.get(), &event, sizeof(event), &pidfd) == sizeof(event));
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
  const std::string pid = Field(std::string(std::istreambuf_iterator<char>(info), {}), "Pid");
  std::ifstream status("/proc/" + pid + "/status");
  const std::string resident =
      Field(std::string(std::istreambuf_iterator<char>(status), {}), "VmRSS");
  INFO("resident " << resident << " kB");
  REQUIRE_FALSE(resident.empty());
  CHECK(std::stoi(resident) < 1024);
}

TEST_CASE("an executor's commands see the workspace as it is, whether a sandbox was ready or not") {
  NEEDS_NAMESPACES();
  for (const std::size_t count : {0, 1, 2}) {
    SandboxFixture fixture;
    fixture.options.ready_sandboxes = count;
    fs::create_directory(fixture.workspace() + "/.git");
    fixture.config.deny_read = {"**/.env"};
    Write(fixture.workspace() + "/.env", "SECRET\n");
    const std::string show = "cat .env 2>/dev/null; cat later 2>/dev/null; echo end";
    CHECK(fixture.Shell(show).standard_output.head == "end\n");
    CHECK(fixture.Shell(show).standard_output.head == "end\n");
    Write(fixture.workspace() + "/later", "later\n");
    fs::create_directory(fixture.workspace() + "/new");
    Write(fixture.workspace() + "/new/.env", "SECRET\n");
    CHECK(fixture.Shell(show + "; cat new/.env 2>/dev/null").standard_output.head ==
          "later\nend\n");
    CHECK(fixture.Shell("echo x >>later; cat later").standard_output.head == "later\nx\n");
    fs::remove(fixture.workspace() + "/.env");
    Write(fixture.workspace() + "/.env", "SECRET\n");
    CHECK(fixture.Shell("cat .env 2>/dev/null; echo end").standard_output.head == "end\n");
  }
}

}  // namespace
}  // namespace cordon::internal::testing
