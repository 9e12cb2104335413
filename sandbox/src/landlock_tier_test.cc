// Commands in the landlock tier, which is forced where the host could do better.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "cordon/sdk/status.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "landlock_abi.h"
#include "landlock_report.h"
#include "landlock_testing.h"
#include "namespaces_report.h"
#include "observation_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::Exists;
using testing::FindDenial;
using testing::SandboxFixture;
using testing::Shown;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

class LandlockFixture : public SandboxFixture {
 public:
  LandlockFixture() { options.backend = Backend::kLandlock; }

  void Write(const std::string& path, const std::string& text = "text\n") const {
    const fs::path file = fs::path(workspace()) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] std::string Read(const std::string& path) const {
    std::ifstream file(workspace() + "/" + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

std::string Status(const RunResult& result) {
  std::string text = result.standard_output.head;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

TEST_CASE("the landlock tier says what it is and claims no more than it holds") {
  NEEDS_SCOPED_LANDLOCK();
  const DescriptorGuard guard;
  LandlockFixture fixture;
  const CompileReport& report = fixture.set().Report();
  CHECK(report.backend == "landlock");
  CHECK(report.level == Level::kDegraded);
  CHECK(report.lifetime == LifetimeContainment::kBestEffort);
  CHECK(report.guarantees.write_boundary);
  CHECK(report.guarantees.read_boundary);
  CHECK(report.guarantees.env_scrub);
  const RunResult result = fixture.Shell("echo x >made; cat made; exit 3");
  CHECK(result.outcome.code == 3);
  CHECK(result.standard_output.head == "x\n");
  CHECK(result.report.backend == "landlock");
}

TEST_CASE("the landlock tier keeps a command from what it may not read or write") {
  NEEDS_SCOPED_LANDLOCK();
  LandlockFixture fixture;
  const TemporaryFolder outside;
  std::ofstream(outside / "secret") << "CONFIDENTIAL\n";
  const std::string act = "cat " + (outside / "secret") + "; echo x >" + (outside / "new") +
                          "; ls " + outside.path() + " && echo listed; true";
  const RunResult refused = fixture.Shell(act);
  CHECK(Status(refused).empty());
  CHECK_FALSE(Exists(outside / "new"));
  fixture.DropSet();
  fixture.config.additional_roots = {{outside.path(), Access::kAllow, Access::kAllow}};
  CHECK(Status(fixture.Shell(act)) == "CONFIDENTIAL\nnew\nsecret\nlisted");
  CHECK(Exists(outside / "new"));
}

TEST_CASE("the landlock tier protects what git runs, and lets the rest be changed") {
  NEEDS_SCOPED_LANDLOCK();
  LandlockFixture fixture;
  for (const char* file : {".git/HEAD", ".git/config", ".git/hooks/sample", ".git/objects/x",
                           ".git/refs/x", "src/main"}) {
    fixture.Write(file);
  }
  const RunResult result = fixture.Shell(
      "echo x >>.git/config; echo x >.git/hooks/pre-commit; mv .git moved; rm .git/config; "
      "ln -f src/main .git/hooks/sample; echo more >>src/main; echo new >src/new; cat .git/config");
  CHECK(Status(result) == "text");
  CHECK(fixture.Read(".git/config") == "text\n");
  CHECK(fixture.Read(".git/hooks/sample") == "text\n");
  CHECK_FALSE(Exists(fixture.workspace() + "/.git/hooks/pre-commit"));
  CHECK_FALSE(Exists(fixture.workspace() + "/moved"));
  CHECK(fixture.Read("src/main") == "text\nmore\n");
  CHECK(fixture.Read("src/new") == "new\n");
}

TEST_CASE("the landlock tier hides what is denied below an allowed folder") {
  NEEDS_SCOPED_LANDLOCK();
  LandlockFixture fixture;
  fixture.Write("app/.env", "CONFIDENTIAL\n");
  fixture.Write("app/code", "code\n");
  fixture.Write("keys/key", "CONFIDENTIAL\n");
  fixture.config.deny_read = {"**/.env", "keys"};
  const RunResult result = fixture.Shell(
      "cat app/code; cat app/.env keys/key; mv app/.env app/x; mv keys k; ln app/.env y; "
      "cat app/x y k/key; true");
  CHECK(Status(result) == "code");
  CHECK(fixture.Read("app/.env") == "CONFIDENTIAL\n");
  CHECK(fixture.Read("keys/key") == "CONFIDENTIAL\n");
}

TEST_CASE("the landlock tier lets no process of the host be signalled or looked at") {
  NEEDS_SCOPED_LANDLOCK();
  LandlockFixture fixture;
  const pid_t victim = fork();
  REQUIRE(victim >= 0);
  if (victim == 0) {
    pause();
    _exit(0);
  }
  const std::string pid = std::to_string(victim);
  const RunResult result = fixture.Shell("kill -0 " + pid + " && echo signalled; cat /proc/" + pid +
                                         "/cmdline && echo read; "
                                         "prlimit --pid " +
                                         pid + " --nofile=9:9 && echo limited; renice 5 " + pid +
                                         " && echo reniced; "
                                         "sleep 60 & kill $! && echo own");
  CHECK(Status(result) == "own");
  CHECK(kill(victim, 0) == 0);
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
}

TEST_CASE("the landlock tier refuses what only a view or a network namespace can give") {
  NEEDS_SCOPED_LANDLOCK();
  LandlockFixture fixture;
  std::string word;
  SECTION("targets") {
    fixture.config.network_targets = {"example.com:443"};
    word = "network_targets";
  }
  SECTION("unix sockets with the host's network") {
    fixture.config.network = Access::kAllow;
    fixture.config.unix_sockets = {"/run/test.sock"};
    word = "unix_sockets";
  }
  const absl::Status status = fixture.Make().status();
  REQUIRE_FALSE(status.ok());
  CHECK(ErrorOf(status)->code == ErrorCode::kUnavailable);
  CHECK(std::string(status.message()).find(word) != std::string::npos);
}

TEST_CASE("the landlock tier lists refused paths with their rule and what allows them") {
  NEEDS_SCOPED_LANDLOCK();
  const DescriptorGuard guard;
  const TemporaryFolder readable;
  const TemporaryFolder hidden;
  LandlockFixture fixture;
  fixture.options.explain_paths = true;
  fixture.config.additional_roots = {{readable.path(), Access::kAllow, Access::kDeny}};
  fixture.config.deny_read = {"**/.secret"};
  fixture.Write("app/.secret", "CONFIDENTIAL\n");
  fixture.Write("app/own");
  std::ofstream(readable.path() + "/file") << "text\n";
  std::ofstream(hidden.path() + "/file") << "text\n";
  const RunResult result = fixture.Shell(
      "(cat " + hidden.path() + "/file app/.secret missing " + hidden.path() +
      "/missing; echo x >" + readable.path() + "/file; chmod 700 " + readable.path() +
      "/file; cd app && cat own && echo y >own && chmod 700 own && cd own) 2>/dev/null; true");
  REQUIRE(result.outcome.code == 0);
  const std::string secret = fixture.workspace() + "/app/.secret";
  const Denial* const read = FindDenial(result, "filesystem.read", hidden.path() + "/file");
  const Denial* const denied = FindDenial(result, "filesystem.read", secret);
  const Denial* const written = FindDenial(result, "filesystem.write", readable.path() + "/file");
  INFO(Shown(result));
  REQUIRE(read != nullptr);
  CHECK(read->allow_with == "--read " + hidden.path() + "/file");
  REQUIRE(denied != nullptr);
  CHECK(denied->reason.find("**/.secret") != std::string::npos);
  REQUIRE(written != nullptr);
  CHECK(written->count == 2);  // Its content and its mode.
  CHECK(written->allow_with == "--write " + readable.path() + "/file");
  // What does not exist, or is allowed and wrong, is no refusal.
  CHECK(result.denials.size() == 3);
  CHECK(fixture.Read("app/own") == "y\n");
}

TEST_CASE("the landlock tier is not built of a Landlock that cannot keep signals in") {
  HostProbe host;
  host.landlock_abi = 5;
  const absl::Status forced = ChooseTier(Backend::kLandlock, host).status();
  CHECK(ErrorOf(forced)->code == ErrorCode::kUnavailable);
  CHECK(std::string(forced.message()).find("ABI 5, which cannot keep signals in") !=
        std::string::npos);
  CHECK(std::string(forced.message()).find("Linux 6.12") != std::string::npos);
  host.landlock_abi = kLandlockAbiOfTier;
  host.landlock_tier = true;
  CHECK(ChooseTier(Backend::kLandlock, host).value() == Tier::kLandlock);
}

}  // namespace
}  // namespace cordon::internal
