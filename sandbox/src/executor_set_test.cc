#include "cordon/sandbox/executor_set.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "cordon/sdk/unsafe.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::Exists;
using testing::FakeAuthority;
using testing::ProcessesWith;
using testing::SandboxFixture;
namespace fs = std::filesystem;

bool Empty(const std::string& folder) { return fs::is_empty(folder); }

bool Mentions(const absl::Status& status, const std::string& word) {
  return std::string(status.message()).find(word) != std::string::npos;
}

ProfileConfig UnconfinedConfig(const std::string& workspace) {
  ProfileConfig config;
  config.workspace_root = workspace;
  config.workspace_read = config.workspace_write = Access::kAllow;
  config.host_read = config.host_write = Access::kAllow;
  config.network = config.command = Access::kAllow;
  config.isolation = Isolation::kUnconfined;
  config.ack_unconfined = UnconfinedAcknowledgement::CommandsRunWithMyFullAuthority();
  return config;
}

TEST_CASE("a set needs a profile, a scratch root and a maximum") {
  const DescriptorGuard guard;
  testing::FakeLog log;
  SandboxFixture fixture;
  CHECK(Is(ExecutorSet::Create(Profile(), fixture.options).status(), ErrorCode::kInvalidProfile));
  SECTION("no scratch root") { fixture.options.scratch_root.clear(); }
  SECTION("a scratch root that is missing") { fixture.options.scratch_root += "/missing"; }
  SECTION("no maximum") { fixture.options.max_executors = 0; }
  SECTION("no audit log where the profile requires one") {
    fixture.config.audit = AuditMode::kRequired;
    fixture.options.log = nullptr;
  }
  SECTION("an audit log that is less durable than the profile requires") {
    fixture.config.audit = AuditMode::kDurable;
    fixture.options.log = &log;
    CHECK(Is(fixture.Make().status(), ErrorCode::kInvalidOption));
  }
  CHECK(Is(fixture.Make().status(), ErrorCode::kInvalidOption));
  CHECK(Empty(fixture.scratch()));
}

TEST_CASE("what this version lacks is refused with its name, never ignored") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  std::string word;
  SECTION("targets") {
    fixture.config.network_targets = {"example.com:443"};
    word = "network_targets";
  }
  SECTION("loopback ports") {
    fixture.config.loopback_ports = {8080};
    word = "loopback_ports";
  }
  SECTION("published ports") {
    fixture.config.publish_ports = {8080};
    word = "publish_ports";
  }
  SECTION("a network boundary over an open network") {
    fixture.config.network = Access::kAllow;
    fixture.config.required_guarantees.network_boundary = true;
    word = "network_boundary";
  }
  SECTION("limits that hold for a process only") {
    fixture.config.limits.memory_bytes = 1 << 30;
    fixture.config.required_guarantees.resource_limits = true;
    word = "resource_limits";
  }
  const absl::Status status = fixture.Make().status();
  CHECK(Is(status, ErrorCode::kUnavailable));
  CHECK(Mentions(status, word));
  CHECK(Empty(fixture.scratch()));
}

TEST_CASE("every guarantee but limits holds here, and with an open network none about it") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  Guarantees expected = GuaranteesFromBits(0xFF);
  expected.resource_limits = false;
  SECTION("closed") {}
  SECTION("gated") { fixture.config.network = Access::kGated; }
  SECTION("open") {
    fixture.config.network = Access::kAllow;
    expected.network_boundary = expected.address_network = expected.target_network = false;
  }
  fixture.config.required_guarantees = expected;
  CHECK(fixture.set().Report().guarantees == expected);
  CHECK(fixture.set().Report().level == Level::kFull);
  CHECK(fixture.set().Report().backend == "namespaces");
  CHECK(fixture.executor()->Report().guarantees == expected);
  std::set<std::string> features;
  for (const ReportEntry& entry : fixture.set().Report().entries) features.insert(entry.feature);
  for (const char* feature :
       {"filesystem.read", "filesystem.write", "network", "process", "environment", "limits"}) {
    CAPTURE(feature);
    CHECK(features.count(feature) == 1);
  }
}

TEST_CASE("no entry says enforced while its guarantee is not claimed") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  SECTION("closed network, no limits") {}
  SECTION("open network, limits per process") {
    fixture.config.network = Access::kAllow;
    fixture.config.limits.memory_bytes = 1 << 30;
    fixture.config.limits.processes = 100;
    fixture.config.limits.file_size_bytes = 1 << 20;
  }
  SECTION("unconfined") {
    fixture.config = UnconfinedConfig(fixture.workspace());
    fixture.config.limits.file_size_bytes = 1 << 20;
  }
  const CompileReport& report = fixture.set().Report();
  const std::pair<std::string, bool> bits[] = {
      {"filesystem.read", report.guarantees.read_boundary},
      {"filesystem.write", report.guarantees.write_boundary},
      {"protected_paths", report.guarantees.write_boundary},
      {"process", report.guarantees.process_boundary},
      {"environment", report.guarantees.env_scrub},
      {"network", report.guarantees.network_boundary},
      {"limits", report.guarantees.resource_limits}};
  for (const ReportEntry& entry : report.entries) {
    if (entry.status != FeatureStatus::kEnforced) continue;
    bool known = false;
    for (const auto& [feature, claimed] : bits) {
      if (entry.feature.rfind(feature, 0) != 0) continue;
      known = true;
      CAPTURE(entry.feature);
      CHECK(claimed);
    }
    CAPTURE(entry.feature);
    CHECK(known);
  }
}

TEST_CASE("one key gives one executor, also to 32 callers at the same time") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  ExecutorSet& set = fixture.set();
  std::vector<std::shared_ptr<Executor>> executors(32);
  std::vector<std::thread> threads;
  for (auto& executor : executors) {
    threads.emplace_back([&set, &executor] {
      const absl::StatusOr<std::shared_ptr<Executor>> made = set.For("key");
      if (made.ok()) executor = *made;
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(executors[0] != nullptr);
  for (const auto& executor : executors) CHECK(executor == executors[0]);
  CHECK(fixture.executor("other") != executors[0]);
}

TEST_CASE("there are no more executors than the maximum, and none for an empty key") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  fixture.options.max_executors = 2;
  CHECK(Is(fixture.set().For("").status(), ErrorCode::kInvalidOption));
  CHECK(fixture.set().For("a").ok());
  CHECK(fixture.set().For("b").ok());
  CHECK(Is(fixture.set().For("c").status(), ErrorCode::kBusy));
  CHECK(fixture.set().For("a").ok());
}

TEST_CASE("a failed construction leaves nothing behind, and can be tried again") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  int calls = 0;
  std::vector<std::shared_ptr<FakeAuthority>> made;
  fixture.options.make_authority =
      [&](std::string id) -> absl::StatusOr<std::shared_ptr<GrantAuthority>> {
    if (++calls == 2) return MakeError(ErrorCode::kInternal, "no key");
    made.push_back(std::make_shared<FakeAuthority>(std::move(id)));
    return made.back();
  };
  const std::shared_ptr<Executor> first = fixture.executor("first");
  CHECK(first->grant_authority() == made[0]);
  const auto folders = [&] {
    const fs::path own = fs::directory_iterator(fixture.scratch())->path();
    return std::distance(fs::directory_iterator(own), fs::directory_iterator());
  };
  const auto before = folders();
  CHECK(Is(fixture.set().For("second").status(), ErrorCode::kInternal));
  CHECK(folders() == before);
  const std::shared_ptr<Executor> second = fixture.executor("second");
  REQUIRE(made.size() == 2);
  CHECK(second->grant_authority() == made[1]);
  CHECK(made[0]->executor_id() != made[1]->executor_id());
}

TEST_CASE("closing removes the set's own folder, leaves the caller's, and revokes") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  std::ofstream(fixture.scratch() + "/callers") << "x";
  std::shared_ptr<FakeAuthority> authority;
  fixture.options.make_authority =
      [&](std::string id) -> absl::StatusOr<std::shared_ptr<GrantAuthority>> {
    return authority = std::make_shared<FakeAuthority>(std::move(id));
  };
  const std::shared_ptr<Executor> executor = fixture.executor();
  REQUIRE(
      fixture.Shell("echo x >$HOME/x; echo x >/tmp/x; mkdir -p $HOME/a/b; chmod 0 $HOME/a $HOME")
          .outcome.code == 0);
  ExecutorSet& set = fixture.set();
  CHECK(set.Close().ok());
  CHECK(set.Close().ok());
  CHECK(authority->closed());
  CHECK(std::distance(fs::directory_iterator(fixture.scratch()), fs::directory_iterator()) == 1);
  CHECK(Exists(fixture.scratch() + "/callers"));
  CHECK(Is(set.For("test").status(), ErrorCode::kClosed));
  CHECK(Is(executor->RunCommand(fixture.workspace(), "true").status(), ErrorCode::kClosed));
  CHECK(Is(executor->PrepareProcess(Command::Shell("true", fixture.workspace()), {}).status(),
           ErrorCode::kClosed));
  fixture.DropSet();
  CHECK(executor->Report().level == Level::kFull);
}

TEST_CASE("closing ends what runs, and concurrent calls agree") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  SandboxFixture fixture;
  const std::string mark = "32.0" + std::to_string(getpid());
  ExecutorSet& set = fixture.set();
  const std::shared_ptr<Executor> executor = fixture.executor();
  absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared = executor->PrepareProcess(
      Command::Shell("trap '' TERM; setsid sleep " + mark + " & echo ready; wait; sleep " + mark,
                     fixture.workspace()),
      {});
  REQUIRE(prepared.ok());
  const absl::StatusOr<std::unique_ptr<PreparedProcess>> never =
      executor->PrepareProcess(Command::Shell("touch started", fixture.workspace()), {});
  REQUIRE(never.ok());
  absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  REQUIRE(process.ok());
  CHECK(testing::ReadUntil((*process)->TakeStandardOutput().get(), "ready"));
  CHECK(ProcessesWith(mark) > 0);
  std::vector<absl::Status> results(8, absl::UnknownError("not called"));
  std::vector<std::thread> threads;
  for (absl::Status& result : results) {
    threads.emplace_back([&set, &result] { result = set.Close(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& result : results) CHECK(result.ok());
  CHECK(ProcessesWith(mark) == 0);
  const absl::StatusOr<RunResult> ended = (*process)->Wait();
  REQUIRE(ended.ok());
  CHECK(ended->outcome.kind == Outcome::Kind::kCancelled);
  CHECK(Is((*never)->Start().status(), ErrorCode::kClosed));
  CHECK_FALSE(Exists(fixture.workspace() + "/started"));
  CHECK(Empty(fixture.scratch()));
}

TEST_CASE("closing races with starting, and each command either ran or never will") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  for (int i = 0; i < 10; ++i) {
    SandboxFixture fixture;
    ExecutorSet& set = fixture.set();
    const std::shared_ptr<Executor> executor = fixture.executor();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] { (void)executor->RunCommand(fixture.workspace(), "sleep 20"); });
    }
    CHECK(set.Close().ok());
    for (std::thread& thread : threads) thread.join();
    CHECK(Empty(fixture.scratch()));
  }
}

TEST_CASE("a set over a launcher that was started early works, and so does the next one") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  Init();
  Init();
  for (int i = 0; i < 2; ++i) {
    SandboxFixture fixture;
    CHECK(fixture.Shell("echo fine").standard_output.head == "fine\n");
  }
}

TEST_CASE("an unconfined set claims nothing but a clean environment, and still ends its trees") {
  const DescriptorGuard guard;
  SandboxFixture fixture;
  fixture.config = UnconfinedConfig(fixture.workspace());
  Guarantees expected;
  expected.env_scrub = true;
  CHECK(fixture.set().Report().guarantees == expected);
  CHECK(fixture.set().Report().level == Level::kNone);
  CHECK(fixture.set().Report().lifetime == LifetimeContainment::kBestEffort);
  REQUIRE(setenv("CORDON_TEST_SECRET", "CANARY", 1) == 0);
  const testing::TemporaryFolder outside;
  const std::string mark = "33.0" + std::to_string(getpid());
  const RunResult result = fixture.Shell("env; echo x >" + outside.path() +
                                         "/file; touch $HOME/x $TMPDIR/x || exit 9; " +
                                         "(setsid sh -c 'trap \"\" TERM HUP; sleep " + mark +
                                         "; sleep " + mark + "' &); echo done; exit 5");
  REQUIRE(unsetenv("CORDON_TEST_SECRET") == 0);
  CHECK(result.outcome.code == 5);
  CHECK(result.standard_output.head.find("CANARY") == std::string::npos);
  CHECK(result.standard_output.head.find("done\n") != std::string::npos);
  CHECK(Exists(outside.path() + "/file"));
  CHECK(ProcessesWith(mark) == 0);
  CHECK(fixture.set().Close().ok());
  CHECK(Empty(fixture.scratch()));
}

TEST_CASE("the index of a workspace is kept for the next program, and hidden from commands") {
  CORDON_NEED_NAMESPACES();
  SandboxFixture fixture;
  const testing::TemporaryFolder home;
  const std::string folder = home / "cordon";
  for (int i = 0; i < 160; ++i) {
    fs::create_directories(fixture.workspace() + "/f" + std::to_string(i));
  }
  fixture.options.index_cache = folder;
  fixture.config.deny_read = {"**/.env"};
  const auto open_home = [&](Access write) {
    fixture.config.additional_roots = {{home.path(), Access::kAllow, write}};
  };
  SECTION("where commands may not write it") {
    open_home(Access::kDeny);
    CHECK(fixture.Shell("true").outcome.code == 0);
    if (!Exists(folder)) CORDON_SKIP("keyrings", "this host keeps no keys");
    CHECK_FALSE(Empty(folder));
    fixture.DropSet();
    const std::string list = "ls -A " + home.path() + " && ls -A " + folder;
    const RunResult seen = fixture.Shell(list);
    CHECK(seen.standard_output.head.find("cordon") == 0);
    CHECK(seen.standard_output.head.find_first_of("0123456789") == std::string::npos);
  }
  SECTION("not where they may") {
    open_home(Access::kAllow);
    CHECK(fixture.Shell("true").outcome.code == 0);
    CHECK_FALSE(Exists(folder));
  }
  SECTION("not where nobody asked for it") {
    fixture.options.index_cache.clear();
    CHECK(fixture.Shell("true").outcome.code == 0);
    CHECK(Empty(home.path()));
  }
}

}  // namespace
}  // namespace cordon::internal
