#include "cordon/bash/bash_tool.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/request.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"
#include "support/fake_executor.h"

namespace cordon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using test::FakeExecutor;

// A workspace with `src`, a link `inner` to it and a link `outer` out of it, beside a folder that
// the profile hides and one that it gates.
class Fixture {
 public:
  Fixture() : root_(fs::canonical(fs::temp_directory_path()) / ("cordon-bash-test-" + RandomId())) {
    fs::create_directories(workspace() / "src");
    fs::create_directories(root_ / "hidden" / "exists");
    fs::create_directories(root_ / "gated" / "sub");
    fs::create_directory_symlink("src", workspace() / "inner");
    fs::create_directory_symlink(root_ / "hidden" / "exists", workspace() / "outer");
    std::ofstream(workspace() / "file") << "text";
  }
  ~Fixture() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  [[nodiscard]] fs::path root() const { return root_; }
  [[nodiscard]] fs::path workspace() const { return root_ / "workspace"; }

  [[nodiscard]] Profile MakeProfile() const {
    ProfileConfig config;
    config.workspace_root = workspace();
    config.workspace_read = Access::kAllow;
    config.workspace_write = Access::kAllow;
    config.command = Access::kAllow;
    config.home_root = root_ / "home";
    config.additional_roots = {{root_ / "gated", Access::kGated, Access::kDeny}};
    absl::StatusOr<Profile> profile = Profile::Create(config);
    REQUIRE(profile.ok());
    return *profile;
  }
  [[nodiscard]] std::shared_ptr<FakeExecutor> MakeExecutor(std::string id = "one") const {
    return std::make_shared<FakeExecutor>(MakeProfile(), std::move(id));
  }

 private:
  fs::path root_;
};

// The shell is fixed, so that the tests do not depend on what the host has.
std::unique_ptr<BashTool> MakeTool(std::shared_ptr<Executor> executor,
                                   BashToolOptions options = {}) {
  if (options.shell.empty()) options.shell = "/bin/sh";
  absl::StatusOr<std::unique_ptr<BashTool>> tool =
      BashTool::Create(std::move(executor), std::move(options));
  REQUIRE(tool.ok());
  return *std::move(tool);
}

absl::StatusOr<PreparedCall> Prepare(BashTool& tool, const json& arguments) {
  return tool.Prepare(arguments.dump(), {"call-1", "execution-1"});
}

const std::vector<Requirement>& RequirementsOf(const PreparedCall& call) {
  return std::get<std::vector<Requirement>>(call.request().authority);
}

std::vector<Grant> NoGrants() { return {}; }

TEST_CASE("A tool is not made with options that contradict each other") {
  const Fixture fixture;
  const auto refused = [&fixture](BashToolOptions options) {
    return Is(BashTool::Create(fixture.MakeExecutor(), std::move(options)).status(),
              ErrorCode::kInvalidOption);
  };
  CHECK_FALSE(refused({}));
  CHECK(Is(BashTool::Create(nullptr).status(), ErrorCode::kInvalidOption));
  BashToolOptions options;
  options.default_timeout = options.max_timeout + milliseconds(1);
  CHECK(refused(options));
  options.default_timeout = milliseconds(0);
  CHECK(refused(options));
  options = {};
  options.max_output_bytes = 0;
  CHECK(refused(options));
  options = {};
  options.head_bytes = options.tail_bytes = 0;
  CHECK(refused(options));
  options = {};
  options.start_directory = "relative";
  CHECK(refused(options));
  options = {};
  options.shell = "bash";
  CHECK(refused(options));
}

TEST_CASE("Preparing a command states exactly what will run and what it needs") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor();
  const auto tool = MakeTool(executor);
  const auto call = Prepare(*tool, {{"command", "make test"}, {"description", "runs the tests"}});
  REQUIRE(call.ok());
  const Request& request = call->request();
  CHECK(request.tool == "bash");
  CHECK(request.call_id == "call-1");
  CHECK(request.execution_id == "execution-1");
  CHECK(request.command == Command::Shell("make test", fixture.workspace(), "/bin/sh"));
  CHECK(request.model_description == "runs the tests");
  CHECK(request.binding == executor->BindingFor(*request.command, "execution-1"));
  CHECK(RequirementsOf(*call) == std::vector<Requirement>{RequireCommand(*request.command)});
  CHECK(ValidateRequest(request).ok());
}

TEST_CASE("Preparing has no effect and running happens once") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor();
  const auto tool = MakeTool(executor);
  const auto call = Prepare(*tool, {{"command", "touch made"}});
  REQUIRE(call.ok());
  CHECK(executor->calls().empty());
  CHECK_FALSE(fs::exists(fixture.workspace() / "made"));

  CHECK(tool->Run(*call, NoGrants(), {}).ok());
  CHECK(Is(tool->Run(*call, NoGrants(), {}).status(), ErrorCode::kInvalidRequest));
  CHECK(executor->calls().size() == 1);
}

TEST_CASE("What runs is what was prepared, with its limits and grants") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor();
  BashToolOptions options;
  options.max_output_bytes = 5000;
  options.head_bytes = 10;
  options.tail_bytes = 20;
  const auto tool = MakeTool(executor, options);
  const auto call = Prepare(*tool, {{"command", "ls"}, {"timeout_ms", 1500}, {"workdir", "src"}});
  REQUIRE(call.ok());
  std::vector<Grant> grants;
  grants.emplace_back("token");
  REQUIRE(tool->Run(*call, std::move(grants), {}).ok());

  REQUIRE(executor->calls().size() == 1);
  const FakeExecutor::Call run = executor->calls()[0];
  CHECK(run.command == Command::Shell("ls", fixture.workspace() / "src", "/bin/sh"));
  CHECK(run.options.execution_id == "execution-1");
  CHECK(run.options.timeout == milliseconds(1500));
  CHECK(run.options.max_output_bytes == std::uint64_t{5000});
  CHECK(run.options.head_bytes == 10);
  CHECK(run.options.tail_bytes == 20);
  CHECK(run.tokens == std::vector<std::string>{"token"});
}

TEST_CASE("A command without a time limit gets the default one") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor();
  BashToolOptions options;
  options.default_timeout = milliseconds(700);
  const auto tool = MakeTool(executor, options);
  const auto call = Prepare(*tool, {{"command", "ls"}});
  REQUIRE(call.ok());
  REQUIRE(tool->Run(*call, NoGrants(), {}).ok());
  CHECK(executor->calls().at(0).options.timeout == milliseconds(700));
}

TEST_CASE("Without a choice the shell is bash where there is one") {
  const Fixture fixture;
  const auto tool = BashTool::Create(fixture.MakeExecutor());
  REQUIRE(tool.ok());
  const auto call = Prepare(**tool, {{"command", "ls"}});
  REQUIRE(call.ok());
  CHECK(call->request().command->shell == (fs::exists("/bin/bash") ? "/bin/bash" : "/bin/sh"));
  CHECK((*tool)->description().find(call->request().command->shell + " -c") != std::string::npos);
}

TEST_CASE("A call that another tool prepared does not run") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor("two");
  const auto mine = MakeTool(executor);
  const auto other = MakeTool(fixture.MakeExecutor("one"));
  const auto call = Prepare(*other, {{"command", "ls"}});
  REQUIRE(call.ok());
  CHECK(Is(mine->Run(*call, NoGrants(), {}).status(), ErrorCode::kInvalidRequest));

  Request request = call->request();
  const PreparedCall forged(request, SealedArtifact::Seal(std::string("ls")));
  CHECK(Is(mine->Run(forged, NoGrants(), {}).status(), ErrorCode::kInvalidRequest));
  CHECK(executor->calls().empty());
}

TEST_CASE("A working folder is resolved before anyone is asked") {
  const Fixture fixture;
  const auto tool = MakeTool(fixture.MakeExecutor());
  for (const std::string& spelling :
       {std::string("src"), std::string("./src/"), std::string("inner"),
        std::string("src/../inner"), (fixture.workspace() / "src").string(),
        (fixture.workspace() / "inner").string()}) {
    const auto call = Prepare(*tool, {{"command", "ls"}, {"workdir", spelling}});
    INFO(spelling << ": " << call.status().ToString());
    REQUIRE(call.ok());
    CHECK(call->request().command->working_directory == (fixture.workspace() / "src").string());
  }
}

TEST_CASE("A working folder that is hidden is refused alike whether it exists or not") {
  const Fixture fixture;
  const auto tool = MakeTool(fixture.MakeExecutor());
  const auto refusal = [&tool](const std::string& spelling) {
    const auto call = Prepare(*tool, {{"command", "ls"}, {"workdir", spelling}});
    CHECK(Is(call.status(), ErrorCode::kPolicyDenied));
    std::string message(call.status().message());
    const std::size_t at = message.find(spelling);
    REQUIRE(at != std::string::npos);
    return message.replace(at, spelling.size(), "X");
  };
  const std::string hidden = (fixture.root() / "hidden").string();
  CHECK(refusal(hidden + "/exists") == refusal(hidden + "/missing"));
  CHECK(refusal("../hidden/exists") == refusal("../hidden/missing"));
  CHECK(refusal("outer") == refusal(hidden));
}

TEST_CASE("A working folder must be a folder") {
  const Fixture fixture;
  const auto tool = MakeTool(fixture.MakeExecutor());
  for (const std::string_view spelling : {"missing", "file", "file/x"}) {
    const auto call = Prepare(*tool, {{"command", "ls"}, {"workdir", spelling}});
    INFO(spelling << ": " << call.status().ToString());
    CHECK_FALSE(call.ok());
    CHECK(std::string(call.status().message()).find("workdir") != std::string::npos);
  }
}

TEST_CASE("A gated working folder is possible once its reading is declared") {
  const Fixture fixture;
  const auto tool = MakeTool(fixture.MakeExecutor());
  const std::string folder = (fixture.root() / "gated" / "sub").string();
  const auto refused = Prepare(*tool, {{"command", "ls"}, {"workdir", folder}});
  CHECK(Is(refused.status(), ErrorCode::kPolicyDenied));
  CHECK(std::string(refused.status().message()).find("declare it") != std::string::npos);

  const json access = json::array({{{"kind", "filesystem.read"},
                                    {"path", (fixture.root() / "gated").string()},
                                    {"tree", true}}});
  CHECK(Prepare(*tool, {{"command", "ls"}, {"workdir", folder}, {"access", access}}).ok());
}

TEST_CASE("Declared access becomes requirements that validate") {
  const Fixture fixture;
  const auto tool = MakeTool(fixture.MakeExecutor());
  const json access = json::array({{{"kind", "network"}, {"target", "Example.com:443"}},
                                   {{"kind", "filesystem.write"}, {"path", "inner/new"}},
                                   {{"kind", "filesystem.read"}, {"path", "src"}, {"tree", true}}});
  const auto call = Prepare(*tool, {{"command", "ls"}, {"access", access}});
  INFO(call.status().ToString());
  REQUIRE(call.ok());
  CHECK(ValidateRequest(call->request()).ok());
  const std::vector<Requirement>& requirements = RequirementsOf(*call);
  REQUIRE(requirements.size() == 4);
  CHECK(requirements[0].kind == CapabilityKind::kCommandExecute);
  CHECK(requirements[1].kind == CapabilityKind::kNetwork);
  CHECK(requirements[1].match == "tcp:example.com:443");
  CHECK(requirements[2].kind == CapabilityKind::kFilesystemWrite);
  CHECK(requirements[2].scope == (fixture.workspace() / "src" / "new").string());
  CHECK(requirements[3].scope == "tree:" + (fixture.workspace() / "src").string());
}

TEST_CASE("Two spellings of one path are one requirement") {
  const Fixture fixture;
  const auto tool = MakeTool(fixture.MakeExecutor());
  const json access = json::array({{{"kind", "filesystem.write"}, {"path", "src"}},
                                   {{"kind", "filesystem.write"}, {"path", "inner"}}});
  const auto call = Prepare(*tool, {{"command", "ls"}, {"access", access}});
  REQUIRE(call.ok());
  CHECK(RequirementsOf(*call).size() == 2);
  CHECK(ValidateRequest(call->request()).ok());
}

TEST_CASE("Malformed arguments are refused before anything is looked up") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor();
  const auto tool = MakeTool(executor);
  for (const std::string_view text :
       {"", "{}", R"({"command": "x", "cwd": "/"})", "{\"command\": \"\xFF\"}"}) {
    CHECK(Is(tool->Prepare(text, {"c", "e"}).status(), ErrorCode::kInvalidArguments));
  }
  CHECK(executor->calls().empty());
}

TEST_CASE("What the executor refuses is the status and what a command did is the result") {
  const Fixture fixture;
  const auto executor = fixture.MakeExecutor();
  const auto tool = MakeTool(executor);

  executor->AnswerWith(MakeError(ErrorCode::kGrantRequired, "no grant"));
  const auto refused = Prepare(*tool, {{"command", "ls"}});
  REQUIRE(refused.ok());
  CHECK(Is(tool->Run(*refused, NoGrants(), {}).status(), ErrorCode::kGrantRequired));

  RunResult failed;
  failed.outcome.code = 2;
  executor->AnswerWith(failed);
  const auto call = Prepare(*tool, {{"command", "false"}});
  REQUIRE(call.ok());
  const auto result = tool->Run(*call, NoGrants(), {});
  REQUIRE(result.ok());
  CHECK_FALSE(result->is_error);
  CHECK(result->text == "exit code: 2\n(no output)\n");
}

TEST_CASE("The description states the roots, the network and how to ask for more") {
  const Fixture fixture;
  const std::string text = MakeTool(fixture.MakeExecutor())->description();
  INFO(text);
  CHECK(text.find(fixture.workspace().string() + " (the workspace): read yes, write yes") !=
        std::string::npos);
  CHECK(text.find((fixture.root() / "gated").string() + ": read after a person agrees, write no") !=
        std::string::npos);
  CHECK(text.find("Network: none.") != std::string::npos);
  CHECK(text.find("\"access\": [") != std::string::npos);
  CHECK(text.find("2 min") != std::string::npos);
}

TEST_CASE("The schema of the tool carries its limits") {
  const Fixture fixture;
  BashToolOptions options;
  options.max_timeout = std::chrono::minutes(3);
  const auto tool = MakeTool(fixture.MakeExecutor(), options);
  CHECK(tool->name() == "bash");
  CHECK(json::parse(tool->input_schema_json())["properties"]["timeout_ms"]["maximum"] == 180000);
}

}  // namespace
}  // namespace cordon
