#include "admission.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/status.h"
#include "descriptor_testing.h"
#include "executor_testing.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using testing::DescriptorGuard;
using testing::Exists;
using testing::FakeAuthority;
using testing::FakeLog;
using testing::SandboxFixture;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

constexpr char kId[] = "execution-1";

// A fixture whose commands are gated, and what is needed to grant them.
class GatedFixture : public SandboxFixture {
 public:
  GatedFixture() {
    config.command = Access::kGated;
    options.log = &log;
    options.make_authority =
        [this](std::string id) -> absl::StatusOr<std::shared_ptr<GrantAuthority>> {
      return authority = std::make_shared<FakeAuthority>(std::move(id));
    };
  }
  ~GatedFixture() { DropSet(); }  // Before the log.

  [[nodiscard]] Command In(const std::string& text) const {
    return Command::Shell(text, workspace());
  }

  Grant GrantFor(const Command& command, const GrantSubject& subject = {}) {
    const std::shared_ptr<Executor> target = executor();
    absl::StatusOr<Grant> grant =
        authority->Issue(target->BindingFor(command, kId), subject, GrantAuthority::kDefaultTtl);
    REQUIRE(grant.ok());
    return *std::move(grant);
  }

  [[nodiscard]] static RunOptions OptionsWith(std::vector<Grant> grants) {
    RunOptions run_options;
    run_options.execution_id = kId;
    run_options.grants = std::move(grants);
    return run_options;
  }
  absl::StatusOr<RunResult> Run(const Command& command, std::vector<Grant> grants) {
    return executor()->Run(command, OptionsWith(std::move(grants)));
  }

  FakeLog log;
  std::shared_ptr<FakeAuthority> authority;
};

GrantSubject FileGrant(GrantClass grant_class, const std::string& path) {
  const absl::StatusOr<AcquiredPath> target = AcquirePath(path);
  REQUIRE(target.ok());
  return {grant_class, path, target->identity};
}

TEST_CASE("a gated command needs a grant, runs once with it, and never again") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  GatedFixture fixture;
  const Command command = fixture.In("echo ran >>ran; exit 3");
  CHECK(Is(fixture.Run(command, {}).status(), ErrorCode::kGrantRequired));
  const Grant grant = fixture.GrantFor(command);
  const absl::StatusOr<RunResult> result = fixture.Run(command, {grant});
  REQUIRE(result.ok());
  CHECK(result->outcome.code == 3);
  REQUIRE(result->grants.size() == 1);
  CHECK(result->grants[0].grant_class == GrantClass::kCommandStart);
  CHECK(Is(fixture.Run(command, {grant}).status(), ErrorCode::kGrantReplayed));
  CHECK(fs::file_size(fixture.workspace() + "/ran") == 4);
  CHECK(fixture.log.events() == "refused grant.consumed spawn exit grant.refused");
  for (const LogRecord& record : fixture.log.records()) CHECK(record.execution_id == kId);
}

TEST_CASE("a grant fits one command, one form, one directory, one execution, one executor") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  GatedFixture fixture;
  fs::create_directory(fixture.workspace() + "/other");
  const Command command = Command::Argv({"/bin/touch", "ran"}, fixture.workspace());
  const Grant grant = fixture.GrantFor(command);
  Command moved = command;
  moved.working_directory += "/other";
  CHECK(Is(fixture.Run(fixture.In("/bin/touch ran"), {grant}).status(),
           ErrorCode::kGrantWrongCommand));
  CHECK(Is(fixture.Run(moved, {grant}).status(), ErrorCode::kGrantWrongDirectory));
  RunOptions options;
  options.grants = {grant};
  CHECK(Is(fixture.executor()->Run(command, options).status(), ErrorCode::kGrantWrongExecution));
  CHECK(Is(fixture.Run(command, {Grant("12345")}).status(), ErrorCode::kGrantForged));
  CHECK_FALSE(Exists(fixture.workspace() + "/ran"));
  CHECK_FALSE(Exists(fixture.workspace() + "/other/ran"));
  CHECK(fixture.authority->spent() == 0);
  CHECK(fixture.Run(command, {grant}).ok());
  CHECK(Exists(fixture.workspace() + "/ran"));
}

TEST_CASE("a denied command does not start, with or without a grant") {
  CORDON_NEED_NAMESPACES();
  GatedFixture fixture;
  fixture.config.command = Access::kDeny;
  const Command command = fixture.In("touch ran");
  CHECK(Is(fixture.Run(command, {}).status(), ErrorCode::kPolicyDenied));
  CHECK(Is(fixture.Run(command, {fixture.GrantFor(command)}).status(), ErrorCode::kPolicyDenied));
  CHECK(fixture.authority->spent() == 0);
  CHECK_FALSE(Exists(fixture.workspace() + "/ran"));
}

TEST_CASE("without an authority a gated command cannot run, and an allowed one takes no grants") {
  CORDON_NEED_NAMESPACES();
  GatedFixture fixture;
  fixture.options.make_authority = nullptr;
  CHECK(Is(fixture.Run(fixture.In("true"), {}).status(), ErrorCode::kGrantRequired));
  CHECK(Is(fixture.Run(fixture.In("true"), {Grant("0")}).status(), ErrorCode::kGrantRequired));
  SandboxFixture allowed;
  RunOptions options;
  options.grants = {Grant("0")};
  CHECK(Is(allowed.executor()->RunCommand(allowed.workspace(), "true", options).status(),
           ErrorCode::kGrantWrongExecutor));
  CHECK(allowed.Shell("true").outcome.code == 0);
}

TEST_CASE("grants that are not needed, or cannot be served, are refused and stay usable") {
  CORDON_NEED_NAMESPACES();
  GatedFixture fixture;
  const Command command = fixture.In("true");
  const Grant start = fixture.GrantFor(command);
  CHECK(Is(fixture.Run(command, {start, fixture.GrantFor(command)}).status(),
           ErrorCode::kGrantWrongTarget));
  CHECK(Is(
      fixture
          .Run(command, {start, fixture.GrantFor(command, FileGrant(GrantClass::kFilesystemTreeRead,
                                                                    fixture.workspace()))})
          .status(),
      ErrorCode::kGrantWrongTarget));
  CHECK(Is(
      fixture
          .Run(command, {start, fixture.GrantFor(command, {GrantClass::kNetworkTarget,
                                                           "tcp:example.com:443", std::nullopt})})
          .status(),
      ErrorCode::kPolicyDenied));
  GatedFixture gated;  // Without a proxy nothing of it can be opened.
  gated.config.network = Access::kGated;
  const Command other = gated.In("true");
  CHECK(Is(gated
               .Run(other, {gated.GrantFor(other),
                            gated.GrantFor(other, {GrantClass::kNetworkTarget,
                                                   "tcp:example.com:443", std::nullopt})})
               .status(),
           ErrorCode::kUnavailable));
  const TemporaryFolder outside;
  CHECK(Is(
      fixture
          .Run(command, {start, fixture.GrantFor(command, FileGrant(GrantClass::kFilesystemTreeRead,
                                                                    outside.path()))})
          .status(),
      ErrorCode::kPolicyDenied));
  CHECK(fixture.authority->spent() == 0);
  CHECK(fixture.Run(command, {start}).ok());
}

TEST_CASE("a start that is bound to fail spends no grant") {
  CORDON_NEED_NAMESPACES();
  GatedFixture fixture;
  const std::string folder = fixture.workspace() + "/soon";
  fs::create_directory(folder);
  const Command command = Command::Shell("true", folder);
  const Grant grant = fixture.GrantFor(command);
  fs::remove(folder);
  CHECK(Is(fixture.Run(command, {grant}).status(), ErrorCode::kNotFound));
  CHECK(fixture.authority->spent() == 0);
  fs::create_directory(folder);
  CHECK(fixture.Run(command, {grant}).ok());
}

TEST_CASE("preparing spends the grant, whether or not the process is started") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  GatedFixture fixture;
  const Command command = fixture.In("touch ran");
  ProcessOptions options;
  options.execution_id = kId;
  options.grants = {fixture.GrantFor(command)};
  CHECK(fixture.executor()->PrepareProcess(command, options).ok());
  CHECK(fixture.authority->spent() == 1);
  CHECK(
      Is(fixture.executor()->PrepareProcess(command, options).status(), ErrorCode::kGrantReplayed));
  CHECK_FALSE(Exists(fixture.workspace() + "/ran"));
}

TEST_CASE("of many who use one grant at the same time one starts") {
  CORDON_NEED_NAMESPACES();
  GatedFixture fixture;
  const Command command = fixture.In("echo ran >>ran");
  const Grant grant = fixture.GrantFor(command);
  const std::shared_ptr<Executor> executor = fixture.executor();  // Asserts, so not in a thread.
  std::vector<absl::Status> results(8);
  std::vector<std::thread> threads;
  for (absl::Status& result : results) {
    threads.emplace_back(
        [&] { result = executor->Run(command, GatedFixture::OptionsWith({grant})).status(); });
  }
  for (std::thread& thread : threads) thread.join();
  int started = 0;
  for (const absl::Status& result : results) {
    started += result.ok() ? 1 : 0;
    CHECK((result.ok() || Is(result, ErrorCode::kGrantReplayed)));
  }
  CHECK(started == 1);
  CHECK(fs::file_size(fixture.workspace() + "/ran") == 4);
}

TEST_CASE("a file grant opens what it names, for one command") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  GatedFixture fixture;
  const TemporaryFolder outside;
  fs::create_directories(outside / "tree/below");
  std::ofstream(outside / "tree/below/file") << "in-tree";
  std::ofstream(outside / "tree/other") << "other";
  fixture.config.additional_roots = {{outside.path(), Access::kGated, Access::kGated}};
  const auto run = [&](const std::string& text, const std::vector<GrantSubject>& subjects) {
    const Command command = fixture.In(text);
    std::vector<Grant> grants = {fixture.GrantFor(command)};
    for (const GrantSubject& subject : subjects) {
      grants.push_back(fixture.GrantFor(command, subject));
    }
    return fixture.Run(command, std::move(grants));
  };
  const std::string file = outside / "tree/below/file";
  const std::string other = outside / "tree/other";
  const std::string read_both = "cat " + file + "; cat " + other + " 2>/dev/null || true";

  absl::StatusOr<RunResult> result = run(read_both, {});
  REQUIRE(result.ok());
  CHECK(result->standard_output.head.empty());

  result = run(read_both, {FileGrant(GrantClass::kFilesystemPathRead, file)});
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(result->standard_output.head == "in-tree");
  CHECK(result->grants.size() == 2);

  result = run(read_both, {FileGrant(GrantClass::kFilesystemTreeRead, outside / "tree")});
  REQUIRE(result.ok());
  CHECK(result->standard_output.head == "in-treeother");

  result = run("echo new >" + file, {FileGrant(GrantClass::kFilesystemTreeRead, outside / "tree")});
  REQUIRE(result.ok());
  CHECK(result->outcome.code != 0);

  result = run("echo new >" + file, {FileGrant(GrantClass::kFilesystemPathRead, file),
                                     FileGrant(GrantClass::kFilesystemPathWrite, file)});
  REQUIRE(result.ok());
  CHECK(result->outcome.code == 0);
  CHECK(fs::file_size(file) == 4);

  result = run("true", {FileGrant(GrantClass::kFilesystemPathWrite, file)});
  CHECK(Is(result.status(), ErrorCode::kPolicyDenied));

  result = run(read_both, {});
  REQUIRE(result.ok());
  CHECK(result->standard_output.head.empty());
}

TEST_CASE(
    "a target that is another object than the approved one is refused, and nothing is spent") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  GatedFixture fixture;
  const TemporaryFolder outside;
  fixture.config.additional_roots = {{outside.path(), Access::kGated, Access::kDeny}};
  fs::create_directory(outside / "folder");
  const std::string path = outside / "folder/file";
  std::ofstream(path) << "approved";
  const Command command = fixture.In("cat " + path);
  const Grant start = fixture.GrantFor(command);
  const Grant read = fixture.GrantFor(command, FileGrant(GrantClass::kFilesystemPathRead, path));
  SECTION("replaced") {
    std::ofstream(path + "2") << "replaced";
    fs::rename(path + "2", path);
  }
  SECTION("removed") { fs::remove(path); }
  SECTION("a link") {
    fs::remove(path);
    fs::create_symlink("/etc/hostname", path);
  }
  SECTION("below a link") {
    fs::rename(outside / "folder", outside / "moved");
    fs::create_directory_symlink("moved", outside / "folder");
  }
  CHECK(Is(fixture.Run(command, {start, read}).status(), ErrorCode::kTargetChanged));
  CHECK(fixture.authority->spent() == 0);
}

TEST_CASE("a grant for the host opens what is gated, and not what is denied") {
  const TemporaryFolder workspace;
  const TemporaryFolder outside;
  fs::create_directory(outside / "denied");
  ProfileConfig config;
  config.workspace_root = workspace.path();
  config.command = Access::kGated;
  config.host_read = Access::kGated;
  config.additional_roots = {{outside.path(), Access::kGated, Access::kDeny},
                             {outside / "denied", Access::kDeny, Access::kDeny}};
  const absl::StatusOr<Profile> profile = Profile::Create(config);
  REQUIRE(profile.ok());
  FakeAuthority authority("executor");
  GrantBinding binding;
  binding.executor_id = authority.executor_id();
  const auto issue = [&](const GrantSubject& subject) {
    absl::StatusOr<Grant> grant = authority.Issue(binding, subject, GrantAuthority::kDefaultTtl);
    REQUIRE(grant.ok());
    return *std::move(grant);
  };
  const std::vector<Grant> grants = {issue({}), issue({GrantClass::kFilesystemHostRead, "/", {}})};
  const absl::StatusOr<CommandAdmission> admission =
      AdmitCommand(*profile, &authority, grants, binding, false);
  INFO(admission.status().ToString());
  REQUIRE(admission.ok());
  CHECK(admission->has_file_grants);
  const auto read = [](const PathPolicy& paths, const std::string& path) {
    return paths.Resolve(Axis::kRead, path).access;
  };
  CHECK(read(profile->paths(), outside / "file") == Access::kGated);
  CHECK(read(admission->paths, outside / "file") == Access::kAllow);
  CHECK(read(admission->paths, "/srv/x") == Access::kAllow);
  CHECK(read(admission->paths, outside / "denied/file") == Access::kDeny);
  CHECK(read(admission->paths, workspace / "file") == Access::kDeny);
  CHECK(admission->paths.Resolve(Axis::kWrite, "/srv/x").access == Access::kDeny);
}

TEST_CASE("a command with a grant for the host reads it, and the next one does not") {
  CORDON_NEED_NAMESPACES();
  GatedFixture fixture;
  fixture.config.host_read = Access::kGated;
  const std::string place = "/var/log";  // Not among the system's paths.
  const Command command = fixture.In("test -d " + place + " && ls /bin/sh /etc");
  if (!Exists(place)) CORDON_SKIP("log", "no folder to read");
  const GrantSubject host{GrantClass::kFilesystemHostRead, "/", std::nullopt};
  const absl::StatusOr<RunResult> granted =
      fixture.Run(command, {fixture.GrantFor(command), fixture.GrantFor(command, host)});
  INFO(granted.status().ToString());
  REQUIRE(granted.ok());
  CHECK(granted->outcome.code == 0);
  const absl::StatusOr<RunResult> later = fixture.Run(command, {fixture.GrantFor(command)});
  REQUIRE(later.ok());
  CHECK(later->outcome.code != 0);
}

TEST_CASE("a log that fails prevents the start") {
  CORDON_NEED_NAMESPACES();
  const DescriptorGuard guard;
  GatedFixture fixture;
  SECTION("before the start") { fixture.log.FailAt("spawn"); }
  SECTION("when the grant is spent") { fixture.log.FailAt("grant.consumed"); }
  const Command command = fixture.In("touch ran");
  const Grant grant = fixture.GrantFor(command);
  CHECK(Is(fixture.Run(command, {grant}).status(), ErrorCode::kLogFailed));
  CHECK(Is(fixture.Run(command, {grant}).status(), ErrorCode::kGrantReplayed));
  CHECK(fixture.Run(fixture.In("true"), {fixture.GrantFor(fixture.In("true"))}).status() !=
        absl::OkStatus());
  CHECK_FALSE(Exists(fixture.workspace() + "/ran"));
}

}  // namespace
}  // namespace cordon::internal
