// One call of the Bash tool through everything: model's JSON, gate, grants, sandbox, rendered
// result.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cordon/bash/bash_tool.h"
#include "cordon/gate/approver.h"
#include "cordon/gate/gate.h"
#include "cordon/gate/grants.h"
#include "cordon/gate/rules.h"
#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/tool_call.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A workspace that may be written, a folder `outbox` beside it that needs an approval, one folder
// `hidden`, and the whole chain from a tool call to the kernel.
class Assistant {
 public:
  // `answers` are given in order; after them nobody is there. Leaves `ready` false on a host that
  // cannot confine.
  explicit Assistant(std::vector<bool> answers, Access command = Access::kAllow)
      : root_(fs::canonical(fs::temp_directory_path()) / ("cordon-call-" + RandomId())) {
    for (const char* name : {"workspace/src", "outbox", "hidden", "home", "scratch"}) {
      fs::create_directories(root_ / name);
    }
    absl::StatusOr<Profile> profile = Profile::Create(MakeConfig(command));
    REQUIRE(profile.ok());
    ExecutorSetOptions set_options;
    set_options.scratch_root = root_ / "scratch";
    set_options.max_executors = 1;
    set_options.make_authority = HmacGrantAuthorityFactory();
    absl::StatusOr<std::unique_ptr<ExecutorSet>> set =
        ExecutorSet::Create(*profile, std::move(set_options));
    if (!set.ok()) {
      REQUIRE(Is(set.status(), ErrorCode::kUnavailable));
      unavailable_ = std::string(set.status().message());
      return;
    }
    set_ = *std::move(set);
    Wire(*profile, answers);
  }
  ~Assistant() {
    if (set_ != nullptr) CHECK(set_->Close().ok());
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Assistant(const Assistant&) = delete;
  Assistant& operator=(const Assistant&) = delete;

  // Why this host cannot run the test; empty when it can.
  [[nodiscard]] const std::string& unavailable() const { return unavailable_; }
  [[nodiscard]] fs::path path(std::string_view name) const { return root_ / name; }
  [[nodiscard]] RuleSet& rules() { return *rules_; }
  [[nodiscard]] std::vector<ApprovalCard> cards() const { return approver_->cards(); }

  [[nodiscard]] ToolCallOutcome Call(const json& arguments, std::stop_token stop = {}) {
    return step_->Run({"call", "bash", arguments.dump()}, std::move(stop));
  }
  [[nodiscard]] ToolCallOutcome Bash(const std::string& command) {
    return Call(json{{"command", command}});
  }
  // Asks for writing below the outbox.
  [[nodiscard]] json OutboxAccess() const {
    return json::array(
        {{{"kind", "filesystem.write"}, {"path", path("outbox").string()}, {"tree", true}}});
  }

 private:
  [[nodiscard]] ProfileConfig MakeConfig(Access command) const {
    ProfileConfig config;
    config.workspace_root = root_ / "workspace";
    config.workspace_read = Access::kAllow;
    config.workspace_write = Access::kAllow;
    config.command = command;
    config.home_root = root_ / "home";
    config.additional_roots = {{root_ / "outbox", Access::kAllow, Access::kGated}};
    return config;
  }

  void Wire(const Profile& profile, const std::vector<bool>& answers) {
    std::vector<ApprovalAnswer> script;
    for (const bool approved : answers) script.push_back({approved, Remember::kOnce, "", {}});
    approver_ = std::make_shared<ScriptedApprover>(std::move(script));
    rules_ = RuleSet::InMemory();
    absl::StatusOr<std::shared_ptr<Executor>> executor = set_->For("test");
    REQUIRE(executor.ok());
    GateOptions gate_options;
    gate_options.profile = profile;
    gate_options.rules = rules_;
    gate_options.approver = approver_;
    gate_options.authorities = {(*executor)->grant_authority()};
    absl::StatusOr<std::unique_ptr<Gate>> gate = Gate::Create(std::move(gate_options));
    REQUIRE(gate.ok());
    gate_ = *std::move(gate);
    absl::StatusOr<std::unique_ptr<BashTool>> bash = BashTool::Create(*executor);
    REQUIRE(bash.ok());
    bash_ = *std::move(bash);
    ToolCallOptions step_options;
    step_options.tools = {bash_.get()};
    step_options.admission = gate_.get();
    absl::StatusOr<ToolCallStep> step = ToolCallStep::Create(std::move(step_options));
    REQUIRE(step.ok());
    step_ = std::make_unique<ToolCallStep>(*std::move(step));
  }

  const fs::path root_;
  std::string unavailable_;
  std::shared_ptr<ScriptedApprover> approver_;
  std::shared_ptr<RuleSet> rules_;
  std::unique_ptr<ExecutorSet> set_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<BashTool> bash_;
  std::unique_ptr<ToolCallStep> step_;
};

#define CORDON_NEEDS(assistant) \
  if (!(assistant).unavailable().empty()) CORDON_SKIP("userns", (assistant).unavailable())

bool Has(const ToolCallOutcome& outcome, std::string_view text) {
  return outcome.result.text.find(text) != std::string::npos;
}

json Structured(const ToolCallOutcome& outcome) {
  return json::parse(outcome.result.structured_json);
}

TEST_CASE("A command runs in the workspace and its whole result comes back") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  const ToolCallOutcome outcome = assistant.Bash("pwd; echo oops >&2; echo made > file; exit 3");
  INFO(outcome.result.text);
  REQUIRE(outcome.status.ok());
  CHECK_FALSE(outcome.result.is_error);
  CHECK(outcome.result.text ==
        "exit code: 3\nstdout:\n" + assistant.path("workspace").string() + "\nstderr:\noops\n");
  CHECK(Structured(outcome)["exit_code"] == 3);
  CHECK(fs::exists(assistant.path("workspace/file")));
}

TEST_CASE("The shell is bash where the host has it") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  if (!fs::exists("/bin/bash")) CORDON_SKIP("bash", "the host has no /bin/bash");
  CHECK(Has(assistant.Bash("[[ a == a ]] && cat <(echo substituted)"), "substituted"));
}

TEST_CASE("A folder that needs an approval is writable in the approved call and in no other") {
  Assistant assistant({true});
  CORDON_NEEDS(assistant);
  const std::string target = assistant.path("outbox/note").string();
  const ToolCallOutcome undeclared = assistant.Bash("touch " + target);
  INFO(undeclared.result.text);
  CHECK(undeclared.status.ok());
  CHECK_FALSE(fs::exists(target));
  CHECK(Has(undeclared, "declare it, then a person is asked"));
  CHECK(assistant.cards().empty());

  const ToolCallOutcome approved =
      assistant.Call({{"command", "touch " + target}, {"access", assistant.OutboxAccess()}});
  INFO(approved.result.text);
  CHECK(approved.status.ok());
  CHECK(fs::exists(target));
  REQUIRE(assistant.cards().size() == 1);
  CHECK(assistant.cards()[0].pending.size() == 1);

  const ToolCallOutcome later = assistant.Bash("touch " + target + "2");
  CHECK_FALSE(fs::exists(target + "2"));
  CHECK(Structured(later)["exit_code"] != 0);
}

TEST_CASE("A file that the text plainly redirects to is asked about without being declared") {
  Assistant assistant({true, false});
  CORDON_NEEDS(assistant);
  const std::string target = assistant.path("outbox/note").string();
  CHECK(assistant.Bash("echo text > " + target).status.ok());
  CHECK(fs::exists(target));
  REQUIRE(assistant.cards().size() == 1);
  CHECK(Is(assistant.Bash("echo more > " + target + "2").status, ErrorCode::kRefusedByPerson));
  CHECK_FALSE(fs::exists(target + "2"));
}

TEST_CASE("A call that a person refuses does not run") {
  Assistant assistant({false});
  CORDON_NEEDS(assistant);
  const ToolCallOutcome outcome =
      assistant.Call({{"command", "echo text > file"}, {"access", assistant.OutboxAccess()}});
  INFO(outcome.result.text);
  CHECK(Is(outcome.status, ErrorCode::kRefusedByPerson));
  CHECK(outcome.result.is_error);
  CHECK_FALSE(fs::exists(assistant.path("workspace/file")));
}

TEST_CASE("What the profile denies is refused without asking anybody") {
  Assistant assistant({true});
  CORDON_NEEDS(assistant);
  const ToolCallOutcome network = assistant.Call(
      {{"command", "true"},
       {"access", json::array({{{"kind", "network"}, {"target", "example.com:443"}}})}});
  CHECK(Is(network.status, ErrorCode::kPolicyDenied));
  const ToolCallOutcome hidden =
      assistant.Call({{"command", "true"},
                      {"access", json::array({{{"kind", "filesystem.read"},
                                               {"path", assistant.path("hidden").string()},
                                               {"tree", true}}})}});
  CHECK(Is(hidden.status, ErrorCode::kPolicyDenied));
  CHECK(assistant.cards().empty());
  // The control: the same command without the declarations runs.
  CHECK(assistant.Bash("true").status.ok());
}

TEST_CASE("A stored deny holds although the profile allows commands") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  CHECK(assistant.Bash("echo text > file").status.ok());
  absl::StatusOr<Rule> rule =
      MakeRule(RuleEffect::kDeny, RuleMatch::kExactCommand, "echo text > other");
  REQUIRE(rule.ok());
  REQUIRE(assistant.rules().Add({*rule}, false).ok());
  const ToolCallOutcome denied = assistant.Bash("echo text > other");
  CHECK(Is(denied.status, ErrorCode::kDeniedByRule));
  CHECK_FALSE(fs::exists(assistant.path("workspace/other")));
}

TEST_CASE("Gated commands run once per approval") {
  Assistant assistant({true}, Access::kGated);
  CORDON_NEEDS(assistant);
  CHECK(assistant.Bash("echo 1 >> file").status.ok());
  CHECK(Is(assistant.Bash("echo 1 >> file").status, ErrorCode::kNoApprover));
  std::ifstream in(assistant.path("workspace/file"));
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "1\n");
}

TEST_CASE("A time limit ends the tree and keeps what was written") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  const ToolCallOutcome outcome = assistant.Call(
      {{"command", "echo before; (sleep 600; echo > late) & wait"}, {"timeout_ms", 300}});
  INFO(outcome.result.text);
  REQUIRE(outcome.status.ok());
  CHECK(outcome.result.is_error);
  CHECK(Has(outcome, "timed out after 300 ms"));
  CHECK(Has(outcome, "before"));
  CHECK(Structured(outcome)["outcome"] == "timed_out");
}

TEST_CASE("Long output keeps both ends with exact counts") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  const ToolCallOutcome outcome =
      assistant.Bash("echo first-line; seq 1 1000000; echo last-line; exit 3");
  CHECK(Has(outcome, "exit code: 3\nstdout:\nfirst-line\n1\n2\n"));
  CHECK(Has(outcome, "999999\n1000000\nlast-line\n"));
  CHECK_FALSE(Has(outcome, "\n500000\n"));
  CHECK(Has(outcome, " lines left out"));
  CHECK(outcome.result.text.size() < 40000);
  CHECK(Structured(outcome)["truncated"] == true);
}

TEST_CASE("Odd bytes come back as valid text and are called odd") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  const ToolCallOutcome odd =
      assistant.Bash(R"(printf 'start\377\376\000middle\033[31mred\r\nend')");
  INFO(odd.result.text);
  CHECK(Has(odd, "start\xEF\xBF\xBD\xEF\xBF\xBD\\x00middlered\nend"));
  CHECK(Has(odd, "no valid UTF-8"));
  const ToolCallOutcome cut = assistant.Bash(
      "for i in $(seq 60000); do printf 'é'; done; printf x; "
      "for i in $(seq 60000); do printf '😀'; done; echo; echo tail-mark");
  CHECK(Has(cut, "tail-mark"));
  CHECK_FALSE(Has(cut, "\xEF\xBF\xBD"));
  CHECK_FALSE(Has(cut, "UTF-8"));
}

TEST_CASE("A folder to work in must be in reach, and one that has gone is said to be gone") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  CHECK(Has(assistant.Call({{"command", "pwd"}, {"workdir", "src"}}),
            assistant.path("workspace/src").string() + "\n"));
  CHECK(Is(
      assistant.Call({{"command", "pwd"}, {"workdir", assistant.path("hidden").string()}}).status,
      ErrorCode::kPolicyDenied));
  CHECK(assistant.Bash("cd .. && rmdir src").status.ok());
  const ToolCallOutcome gone = assistant.Call({{"command", "pwd"}, {"workdir", "src"}});
  CHECK(Is(gone.status, ErrorCode::kNotFound));
  CHECK(Has(gone, "workdir src"));
}

TEST_CASE("A cancelled call ends its command") {
  Assistant assistant({});
  CORDON_NEEDS(assistant);
  std::stop_source stop;
  const fs::path fifo = assistant.path("workspace/started");
  // The command itself says when it runs; opening the pipe waits for that.
  REQUIRE(assistant.Bash("mkfifo started").status.ok());
  std::jthread canceller([&stop, &fifo] {
    std::ifstream wait_for_start(fifo);
    stop.request_stop();
  });
  const ToolCallOutcome outcome =
      assistant.Call({{"command", "exec 3> started; exec sleep 600"}}, stop.get_token());
  INFO(outcome.result.text);
  CHECK(outcome.result.is_error);
  CHECK((Is(outcome.status, ErrorCode::kCancelled) || Has(outcome, "cancelled")));
}

}  // namespace
}  // namespace cordon
