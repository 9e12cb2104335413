// What commands of the Bash tool do in a real sandbox, and what the model is told of it.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/status.h"
#include "integration/support/cordon_run.h"
#include "integration/support/wiring.h"
#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::test {
namespace {

using nlohmann::json;

void AllowCommands(ProfileConfig& config) { config.command = Access::kAllow; }

// Commands are allowed, and nobody is there to ask.
struct Allowed : Wiring {
  Allowed() : Wiring({}, AllowCommands) {}
};

json Structured(const ToolCallOutcome& outcome) {
  return json::parse(outcome.result.structured_json);
}

bool Says(const ToolCallOutcome& outcome, std::string_view text) {
  return Has(outcome.result.text, text);
}

TEST_CASE("The shell is bash where the host has it") {
  if (!std::filesystem::exists("/bin/bash")) CORDON_SKIP("bash", "the host has no /bin/bash");
  const Allowed bash;
  CHECK(Says(bash.Run("[[ a == a ]] && cat <(echo substituted)"), "substituted"));
}

// A profile in which writing to `folder` needs an approval.
std::function<void(ProfileConfig&)> WithOutbox(const std::string& folder) {
  return [folder](ProfileConfig& config) {
    AllowCommands(config);
    config.additional_roots.push_back({folder, Access::kAllow, Access::kGated});
  };
}

TEST_CASE("A folder that needs an approval is writable in the approved call and in no other") {
  const Ground elsewhere;
  const Wiring bash({Approve()}, WithOutbox(elsewhere.outside()));
  const std::string target = elsewhere.outside() + "/note";
  const ToolCallOutcome undeclared = bash.Run("touch " + target);
  INFO(undeclared.result.text);
  CHECK(undeclared.status.ok());
  CHECK_FALSE(elsewhere.Exists(target));
  CHECK(Says(undeclared, "declare it, then a person is asked"));
  CHECK(bash.questions() == 0);

  const json access = {{"access", json::array({{{"kind", "filesystem.write"},
                                                {"path", elsewhere.outside()},
                                                {"tree", true}}})}};
  const ToolCallOutcome approved = bash.Run("touch " + target, access);
  INFO(approved.result.text);
  CHECK(approved.status.ok());
  CHECK(elsewhere.Exists(target));
  REQUIRE(bash.questions() == 1);
  CHECK(bash.approver->cards()[0].pending.size() == 1);

  const ToolCallOutcome later = bash.Run("touch " + target + "2");
  CHECK_FALSE(elsewhere.Exists(target + "2"));
  CHECK(Structured(later)["exit_code"] != 0);
}

TEST_CASE("A file that the text plainly redirects to is asked about without being declared") {
  const Ground elsewhere;
  const Wiring bash({Approve(), Refuse()}, WithOutbox(elsewhere.outside()));
  const std::string target = elsewhere.outside() + "/note";
  CHECK(bash.Run("echo text > " + target).status.ok());
  CHECK(elsewhere.Exists(target));
  REQUIRE(bash.questions() == 1);
  CHECK(Is(bash.Run("echo more > " + target + "2").status, ErrorCode::kRefusedByPerson));
  CHECK_FALSE(elsewhere.Exists(target + "2"));
}

TEST_CASE("A network that the profile denies is refused without asking anybody") {
  const Wiring bash({Approve()}, [](ProfileConfig& config) {
    AllowCommands(config);
    config.network = Access::kDeny;
  });
  const json access = {
      {"access", json::array({{{"kind", "network"}, {"target", "example.com:443"}}})}};
  CHECK(Is(bash.Run("true", access).status, ErrorCode::kPolicyDenied));
  CHECK(bash.questions() == 0);
  // The control: the same command without the declaration runs.
  CHECK(bash.Run("true").status.ok());
}

TEST_CASE("A time limit ends the tree and keeps what was written") {
  const Allowed bash;
  const ToolCallOutcome outcome =
      bash.Run("echo before; (sleep 600; echo > late) & wait", {{"timeout_ms", 300}});
  INFO(outcome.result.text);
  REQUIRE(outcome.status.ok());
  CHECK(outcome.result.is_error);
  CHECK(Says(outcome, "timed out after 300 ms"));
  CHECK(Says(outcome, "before"));
  CHECK(Structured(outcome)["outcome"] == "timed_out");
}

TEST_CASE("What a command left running is ended, and the model is told") {
  const Allowed bash;
  const ToolCallOutcome outcome = bash.Run("sleep 600 & echo started");
  INFO(outcome.result.text);
  CHECK(Says(outcome, "started\n"));
  CHECK(Says(outcome, "still ran when the command itself was over, and was ended"));
  CHECK(Structured(outcome)["left_running"] == true);
  CHECK(Structured(bash.Run("sleep 0.01 & wait"))["left_running"] == false);  // The control.
}

TEST_CASE("A folder that a command goes to is left again with the call") {
  const Allowed bash;
  bash.sandbox.ground().MakeFolder("src");
  CHECK(Says(bash.Run("cd src && pwd"), bash.sandbox.ground().workspace() + "/src\n"));
  CHECK(Says(bash.Run("pwd"), bash.sandbox.ground().workspace() + "\n"));
  CHECK(Has(bash.tool->description(), "`cd` lasts for its call only"));
}

TEST_CASE("Long output keeps both ends with exact counts") {
  const Allowed bash;
  const ToolCallOutcome outcome =
      bash.Run("echo first-line; seq 1 1000000; echo last-line; exit 3");
  CHECK(Says(outcome, "exit code: 3\nstdout:\nfirst-line\n1\n2\n"));
  CHECK(Says(outcome, "999999\n1000000\nlast-line\n"));
  CHECK_FALSE(Says(outcome, "\n500000\n"));
  CHECK(Says(outcome, " lines left out"));
  CHECK(outcome.result.text.size() < 40000);
  CHECK(Structured(outcome)["truncated"] == true);
}

TEST_CASE("Odd bytes come back as valid text and are called odd") {
  const Allowed bash;
  const ToolCallOutcome odd = bash.Run(R"(printf 'start\377\376\000middle\033[31mred\r\nend')");
  INFO(odd.result.text);
  CHECK(Says(odd, "start\xEF\xBF\xBD\xEF\xBF\xBD\\x00middlered\nend"));
  CHECK(Says(odd, "no valid UTF-8"));
  const ToolCallOutcome cut = bash.Run(
      "for i in $(seq 60000); do printf 'é'; done; printf x; "
      "for i in $(seq 60000); do printf '😀'; done; echo; echo tail-mark");
  CHECK(Says(cut, "tail-mark"));
  CHECK_FALSE(Says(cut, "\xEF\xBF\xBD"));
  CHECK_FALSE(Says(cut, "UTF-8"));
}

TEST_CASE("A folder to work in must be in reach, and one that has gone is said to be gone") {
  const Allowed bash;
  const Ground& ground = bash.sandbox.ground();
  ground.MakeFolder("src");
  CHECK(Says(bash.Run("pwd", {{"workdir", "src"}}), ground.workspace() + "/src\n"));
  CHECK(Is(bash.Run("pwd", {{"workdir", ground.outside()}}).status, ErrorCode::kPolicyDenied));
  CHECK(bash.Run("cd .. && rmdir src").status.ok());
  const ToolCallOutcome gone = bash.Run("pwd", {{"workdir", "src"}});
  CHECK(Is(gone.status, ErrorCode::kNotFound));
  CHECK(Says(gone, "workdir src"));
}

TEST_CASE("A cancelled call ends its command") {
  const Allowed bash;
  std::stop_source stop;
  // The command itself says when it runs; opening the pipe waits for that.
  REQUIRE(bash.Run("mkfifo started").status.ok());
  const std::string fifo = bash.sandbox.ground().PathOf("started");
  std::jthread canceller([&stop, &fifo] {
    std::ifstream wait_for_start(fifo);
    stop.request_stop();
  });
  const ToolCallOutcome outcome =
      bash.Run("exec 3> started; exec sleep 600", json::object(), stop.get_token());
  INFO(outcome.result.text);
  CHECK(outcome.result.is_error);
  CHECK((Is(outcome.status, ErrorCode::kCancelled) || Says(outcome, "cancelled")));
}

}  // namespace
}  // namespace cordon::test
