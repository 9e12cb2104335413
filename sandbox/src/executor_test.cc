#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::Exists;
using testing::ProcessesWith;
using testing::SandboxFixture;
using testing::TemporaryFolder;
using namespace std::chrono_literals;

TEST_CASE("a command's code, signal and both streams come back apart") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const RunResult result = fixture.Shell("echo to-output; echo to-errors >&2; exit 7");
  CHECK(result.outcome.kind == Outcome::Kind::kExited);
  CHECK(result.outcome.code == 7);
  CHECK_FALSE(result.outcome.signal.has_value());
  CHECK(result.standard_output.head == "to-output\n");
  CHECK(result.standard_error.head == "to-errors\n");
  CHECK(result.standard_output.total_lines == 1);
  CHECK(result.execution_id.size() == 32);
  CHECK(result.report.level == Level::kFull);
  CHECK(result.report.lifetime == LifetimeContainment::kEnforced);

  const RunResult killed = fixture.Shell("kill -SEGV $$");
  CHECK(killed.outcome.kind == Outcome::Kind::kSignaled);
  CHECK(killed.outcome.signal == SIGSEGV);
  CHECK_FALSE(killed.outcome.code.has_value());
}

TEST_CASE("arguments reach the program as they are, and input is at its end") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const absl::StatusOr<RunResult> result = fixture.executor()->RunArgv(
      fixture.workspace(),
      {"/bin/sh", "-c", "cat; printf '%s|' \"$@\"", "sh", "a b", "", "*", "-x"});
  REQUIRE(result.ok());
  CHECK(result->standard_output.head == "a b||*|-x|");
  const absl::StatusOr<RunResult> dash = fixture.executor()->RunCommand(fixture.workspace(), "-c");
  REQUIRE(dash.ok());
  CHECK(dash->outcome.code == 127);  // The shell's: text that looks like an option is text.
}

TEST_CASE("the environment inside is the built one, whatever the caller's is") {
  CORDON_NEED_NAMESPACES();
  REQUIRE(setenv("CORDON_TEST_SECRET", "CANARY", 1) == 0);
  SandboxFixture fixture;
  fixture.config.environment = {"CORDON_TEST_GIVEN=value"};
  const RunResult result = fixture.Shell("env; cat /proc/1/environ; cat /proc/self/environ");
  REQUIRE(unsetenv("CORDON_TEST_SECRET") == 0);
  CHECK(result.standard_output.head.find("CANARY") == std::string::npos);
  CHECK(result.standard_output.head.find("CORDON_TEST_GIVEN=value") != std::string::npos);
  CHECK(fixture
            .Shell("test -d \"$HOME\" && mkdir \"$XDG_CACHE_HOME\" && "
                   "touch \"$HOME/mine\" \"$TMPDIR/mine\" \"$XDG_CACHE_HOME/mine\"")
            .outcome.code == 0);
}

TEST_CASE("a program that cannot be executed is a failed set-up with the errno of exec") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  std::ofstream(fixture.workspace() + "/text") << "no program";
  for (const auto& [program, error_number] :
       {std::pair{"./missing", ENOENT}, std::pair{"no-such-program-anywhere", ENOENT},
        std::pair{"./text", EACCES}}) {
    CAPTURE(program);
    const absl::StatusOr<RunResult> result =
        fixture.executor()->RunArgv(fixture.workspace(), {program});
    REQUIRE(Is(result.status(), ErrorCode::kSetupFailed));
    CHECK(ErrorOf(result.status())->step == "exec");
    CHECK(ErrorOf(result.status())->error_number == error_number);
  }
  CHECK(fixture.Shell("true").outcome.code == 0);
}

TEST_CASE("a directory must exist and be readable, and a link to it means its target") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const TemporaryFolder outside;
  std::filesystem::create_directory(fixture.workspace() + "/inner");
  std::filesystem::create_directory_symlink("inner", fixture.workspace() + "/link");
  std::filesystem::create_directory_symlink(outside.path(), fixture.workspace() + "/out");
  std::ofstream(fixture.workspace() + "/file") << "x";
  const auto in = [&fixture](const std::string& folder) {
    return fixture.executor()->RunCommand(folder, "pwd");
  };
  CHECK(Is(in(fixture.workspace() + "/missing").status(), ErrorCode::kNotFound));
  CHECK(Is(in(fixture.workspace() + "/file").status(), ErrorCode::kNotFound));
  CHECK(Is(in(outside.path()).status(), ErrorCode::kPolicyDenied));
  CHECK(Is(in(fixture.workspace() + "/out").status(), ErrorCode::kPolicyDenied));
  CHECK(Is(in("relative").status(), ErrorCode::kInvalidCommand));
  const absl::StatusOr<RunResult> linked = in(fixture.workspace() + "/link");
  REQUIRE(linked.ok());
  CHECK(linked->standard_output.head == fixture.workspace() + "/inner\n");
}

TEST_CASE("the time limit ends the whole tree: at once what obeys, after the grace what does not") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  RunOptions options;
  options.timeout = 300ms;
  const auto begin = std::chrono::steady_clock::now();
  const RunResult obeys = fixture.Shell("echo before; sleep 30", options);
  CHECK(obeys.outcome.kind == Outcome::Kind::kTimedOut);
  CHECK(obeys.outcome.signal == SIGTERM);
  CHECK(obeys.outcome.wall >= 290ms);
  CHECK(obeys.standard_output.head == "before\n");
  CHECK(std::chrono::steady_clock::now() - begin < 2s);

  const RunResult tidies =
      fixture.Shell("trap 'echo tidied; exit 3' TERM; sleep 30 & wait", options);
  CHECK(tidies.outcome.kind == Outcome::Kind::kTimedOut);
  CHECK(tidies.outcome.code == 3);
  CHECK(tidies.standard_output.head == "tidied\n");

  const std::string mark = "30.0" + std::to_string(getpid());
  const RunResult ignores =
      fixture.Shell("trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; sleep " + mark +
                        "' &); sleep " + mark + "; sleep " + mark,
                    options);
  CHECK(ignores.outcome.kind == Outcome::Kind::kTimedOut);
  CHECK(ignores.outcome.signal == SIGKILL);
  CHECK(ignores.outcome.wall >= 2200ms);
  CHECK(ignores.outcome.wall < 8s);
  CHECK(ProcessesWith(mark) == 0);
}

TEST_CASE("the output limit holds for both streams together and ends an endless writer") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  RunOptions options;
  options.max_output_bytes = 10'000;
  const RunResult endless =
      fixture.Shell("trap '' TERM; while :; do echo to-output; echo to-errors >&2; done", options);
  CHECK(endless.outcome.kind == Outcome::Kind::kOutputLimit);
  CHECK(endless.standard_output.head.size() + endless.standard_error.head.size() == 10'000);
  CHECK(endless.standard_output.total_bytes + endless.standard_error.total_bytes > 10'000);
  CHECK(endless.outcome.wall < 5s);

  const RunResult exactly = fixture.Shell("head -c 10000 /dev/zero; exit 4", options);
  CHECK(exactly.outcome.kind == Outcome::Kind::kExited);
  CHECK(exactly.outcome.code == 4);
  CHECK(exactly.standard_output.omitted_bytes == 0);

  const RunResult one_more = fixture.Shell("head -c 10001 /dev/zero; exit 4", options);
  CHECK(one_more.outcome.kind == Outcome::Kind::kOutputLimit);
  CHECK(one_more.standard_output.omitted_bytes == 1);

  const absl::StatusOr<RunResult> limited =
      fixture.executor()->RunArgvLimited(fixture.workspace(), {"/usr/bin/yes"}, 1'000'000);
  REQUIRE(limited.ok());
  CHECK(limited->outcome.kind == Outcome::Kind::kOutputLimit);
  CHECK(limited->standard_output.head.size() == 1'000'000);
}

TEST_CASE("long output keeps head and tail in little memory and loses no count") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  RunOptions options;
  options.head_bytes = 100;
  options.tail_bytes = 100;
  const RunResult result = fixture.Shell("seq 1 300000; exit 5", options);
  CHECK(result.outcome.code == 5);
  CHECK(result.standard_output.total_lines == 300'000);
  CHECK(result.standard_output.total_bytes == 1'988'895);
  CHECK(result.standard_output.head.substr(0, 4) == "1\n2\n");
  CHECK(result.standard_output.tail.substr(93) == "300000\n");
}

TEST_CASE("a stop request ends the tree, and before the start it prevents it") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  std::stop_source early;
  early.request_stop();
  RunOptions options;
  options.stop = early.get_token();
  CHECK(Is(fixture.executor()->RunCommand(fixture.workspace(), "touch ran", options).status(),
           ErrorCode::kCancelled));
  CHECK_FALSE(Exists(fixture.workspace() + "/ran"));

  std::stop_source later;
  options.stop = later.get_token();
  REQUIRE(mkfifo((fixture.workspace() + "/started").c_str(), 0600) == 0);
  std::thread stopper([&] {
    std::ifstream started(fixture.workspace() + "/started");
    std::string line;
    std::getline(started, line);
    later.request_stop();
  });
  const RunResult result = fixture.Shell("echo go >started; sleep 30", options);
  stopper.join();
  CHECK(result.outcome.kind == Outcome::Kind::kCancelled);
  CHECK(result.outcome.wall < 10s);
}

TEST_CASE("what stays in the background neither hangs the run nor outlives it, and loses nothing") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::string mark = "31.0" + std::to_string(getpid());
  const RunResult result =
      fixture.Shell("seq 1 20000; setsid sleep " + mark + " & (setsid sh -c 'sleep " + mark +
                    " & sleep " + mark + "' &); echo done; exit 3");
  CHECK(result.outcome.code == 3);
  CHECK(result.outcome.wall < 5s);
  CHECK(result.standard_output.total_lines == 20'001);
  CHECK(ProcessesWith(mark) == 0);
}

TEST_CASE("time, processor time and memory of the tree are measured") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const RunResult result = fixture.Shell(
      "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; "
      "head -c 60000000 /dev/zero | tail -c 60000000 >/dev/null; sleep 0.2");
  CHECK(result.outcome.wall >= 200ms);
  CHECK(result.outcome.cpu > 20ms);
  CHECK(result.outcome.max_rss_bytes > 50'000'000);
  CHECK(fixture.Shell("true").outcome.max_rss_bytes < 50'000'000);
}

TEST_CASE("limits of file sizes, processes and memory hold") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  SECTION("file size") {
    fixture.config.limits.file_size_bytes = 100'000;
    CHECK(fixture.Shell("head -c 100000 /dev/zero >fits").outcome.code == 0);
    CHECK(fixture.Shell("head -c 100001 /dev/zero >large; exit 9").outcome.code == 9);
    CHECK(std::filesystem::file_size(fixture.workspace() + "/large") == 100'000);
    CHECK(fixture.executor()->Guarantees().resource_limits);
  }
  SECTION("processes") {
    fixture.config.limits.processes = 20;
    const RunResult result = fixture.Shell(
        "/bin/bash -c 'for i in {1..18}; do sleep 20 & done; echo made; sleep 20 & sleep 20 & "
        "sleep 20 & echo more' 2>&1");
    CHECK(result.standard_output.head.find("made") != std::string::npos);
    const bool refused = result.standard_output.head.find("fork") != std::string::npos;
    CHECK(refused == fixture.executor()->Guarantees().resource_limits);
    const bool held = geteuid() != 0 || testing::StartedLauncherOrFail()->CheckProcessLimit().ok();
    CHECK(fixture.executor()->Guarantees().resource_limits == held);
  }
  SECTION("memory") {
    fixture.config.limits.memory_bytes = 100'000'000;
    CHECK(fixture.Shell("head -c 60000000 /dev/zero | tail -c 60000000 >/dev/null").outcome.code ==
          0);
    CHECK(
        fixture.Shell("head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null").outcome.code !=
        0);
    CHECK_FALSE(fixture.executor()->Guarantees().resource_limits);
  }
}

TEST_CASE("protected names that a command creates are undone and reported") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const RunResult result = fixture.Shell("mkdir .vscode; echo x >.envrc; echo x >plain; exit 0");
  CHECK(result.outcome.code == 0);
  CHECK_FALSE(Exists(fixture.workspace() + "/.vscode"));
  CHECK_FALSE(Exists(fixture.workspace() + "/.envrc"));
  CHECK(Exists(fixture.workspace() + "/plain"));
  for (const char* name : {"/.vscode", "/.envrc"}) {
    CHECK(std::count(result.changed_protected.begin(), result.changed_protected.end(),
                     fixture.workspace() + name) == 1);
  }
  CHECK(fixture.Shell("echo x >more").changed_protected.empty());
  fixture.DropSet();
  fixture.config.protect_paths = false;
  CHECK(fixture.Shell("echo x >.envrc").changed_protected.empty());
  CHECK(Exists(fixture.workspace() + "/.envrc"));
}

TEST_CASE("folders of the system may be shown whole, with the links that are shown in any case") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  SECTION("all of the host") { fixture.config.host_read = Access::kAllow; }
  SECTION("/etc") { fixture.config.additional_roots = {{"/etc", Access::kAllow, Access::kDeny}}; }
  const RunResult result = fixture.Shell("cat /etc/passwd && ls / /tmp /etc && /bin/true");
  CHECK(result.outcome.code == 0);
}

TEST_CASE(
    "an executor does not carry its HOME over to another one, and keeps it between commands") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const auto run = [&fixture](const std::string& key, const std::string& text) {
    const absl::StatusOr<RunResult> result =
        fixture.executor(key)->RunCommand(fixture.workspace(), text);
    REQUIRE(result.ok());
    return result->outcome.code;
  };
  CHECK(run("a", "echo x >\"$HOME/mine\"; echo x >/tmp/mine") == 0);
  CHECK(run("a", "test -e \"$HOME/mine\" && test -e /tmp/mine") == 0);
  CHECK(run("b", "test -e \"$HOME/mine\" || test -e /tmp/mine") == 1);
}

}  // namespace
}  // namespace cordon::internal
