// A grant starts the one command that it was issued for, once; anything else is refused with an
// error of its own. With the real authority and the real sandbox.

#include "cordon/gate/grants.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sdk/request.h"
#include "cordon/sdk/status.h"
#include "integration/support/gated_sandbox.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a gated command does not start without a grant and an allowed one needs none") {
  GatedSandbox gated;
  CHECK(CodeOf(gated.Run(gated.Noting(), "e1", {}).status()) == "grant_required");
  CHECK(gated.Noted() == 0);
  GatedSandbox allowed([](ProfileConfig& config) { config.command = Access::kAllow; });
  CHECK(CodeOf(allowed.Run(allowed.Noting(), "e1", {}).status()) == "ok");
  CHECK(allowed.Noted() == 1);
}

TEST_CASE("a denied command does not start with any grant") {
  GatedSandbox denied([](ProfileConfig& config) { config.command = Access::kDeny; });
  const auto grant = denied.GrantFor(denied.Noting(), "e1");
  REQUIRE(grant.ok());
  CHECK(CodeOf(denied.Run(denied.Noting(), "e1", {*grant}).status()) == "policy_denied");
  CHECK(denied.Noted() == 0);
}

TEST_CASE("a granted command runs exactly once") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  const auto first = sandbox.Run(sandbox.Noting(), "e1", {*grant});
  REQUIRE(CodeOf(first.status()) == "ok");
  CHECK(first->outcome.code == 0);
  REQUIRE(first->grants.size() == 1);
  CHECK(first->grants[0].grant_class == GrantClass::kCommandStart);
  for (int i = 0; i < 5; ++i) {
    CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant}).status()) == "grant_replayed");
  }
  CHECK(sandbox.Noted() == 1);
}

TEST_CASE("a grant that many threads present at once starts one command") {
  GatedSandbox sandbox;
  constexpr int kThreads = 8;
  for (int round = 0; round < 3; ++round) {
    const std::string id = "e" + std::to_string(round);
    const auto grant = sandbox.GrantFor(sandbox.Noting(), id);
    REQUIRE(grant.ok());
    std::atomic<int> started = 0;
    std::atomic<int> replayed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const absl::Status status = sandbox.Run(sandbox.Noting(), id, {*grant}).status();
        if (status.ok()) ++started;
        if (Is(status, ErrorCode::kGrantReplayed)) ++replayed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(started == 1);
    CHECK(replayed == kThreads - 1);
    CHECK(sandbox.Noted() == round + 1);
  }
}

TEST_CASE("a token has one spelling") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  const std::string token = grant->token();
  REQUIRE(token.starts_with("v1."));
  // The last character of 32 bytes in base64url carries two bits that must be zero.
  std::string loose = token;
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  loose.back() = digits[digits.find(loose.back()) + 1];
  for (const std::string& spelling :
       {token + "=", token + " ", " " + token, token + "\n", token + ".", "V1" + token.substr(2),
        "v2" + token.substr(2), token.substr(3), token + std::string(1, '\0'), loose, std::string(),
        std::string("v1.."), token + token}) {
    INFO(spelling);
    const std::string code =
        CodeOf(sandbox.Run(sandbox.Noting(), "e1", {Grant(spelling)}).status());
    CHECK(code == "grant_malformed");
  }
  CHECK(sandbox.Noted() == 0);
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant}).status()) == "ok");
  for (const std::string& spelling : {token + "=", token + "\n", loose}) {
    CHECK_FALSE(sandbox.Run(sandbox.Noting(), "e1", {Grant(spelling)}).ok());
  }
  CHECK(sandbox.Noted() == 1);
}

TEST_CASE("a token that was changed is forged") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  const auto other = sandbox.GrantFor(sandbox.Noting(), "e2");
  REQUIRE(grant.ok());
  REQUIRE(other.ok());
  std::string changed = grant->token();
  const std::size_t signature = changed.rfind('.') + 1;
  changed[signature] = changed[signature] == 'A' ? 'B' : 'A';
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {Grant(changed)}).status()) == "grant_forged");
  // The claims of one grant under the signature of another one.
  const std::string mixed =
      grant->token().substr(0, signature) + other->token().substr(other->token().rfind('.') + 1);
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {Grant(mixed)}).status()) == "grant_forged");
  CHECK(sandbox.Noted() == 0);
}

TEST_CASE("a grant expires") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1", seconds(10));
  REQUIRE(grant.ok());
  sandbox.Pass(milliseconds(10'001));
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant}).status()) == "grant_expired");
  CHECK(sandbox.Noted() == 0);
  const auto fresh = sandbox.GrantFor(sandbox.Noting(), "e2", seconds(10));
  REQUIRE(fresh.ok());
  sandbox.Pass(milliseconds(9'000));
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e2", {*fresh}).status()) == "ok");
}

TEST_CASE("a life time beyond a quarter of an hour is not given") {
  GatedSandbox sandbox;
  CHECK(CodeOf(sandbox.GrantFor(sandbox.Noting(), "e1", std::chrono::minutes(16)).status()) ==
        "grant_ttl");
  CHECK(CodeOf(sandbox.GrantFor(sandbox.Noting(), "e1", milliseconds(0)).status()) == "grant_ttl");
}

TEST_CASE("a grant holds for its own operation only, each difference with an error of its own") {
  GatedSandbox sandbox;
  const Command command = sandbox.Noting();
  Profile other_profile;
  {
    ProfileConfig config = sandbox.profile().Settings();
    config.deny_read.push_back("**/.env");
    const auto created = Profile::Create(config);
    REQUIRE(created.ok());
    other_profile = *created;
  }
  const struct {
    const char* code;
    std::function<void(GrantBinding&)> change;
  } table[] = {
      {"grant_wrong_execution", [](GrantBinding& b) { b.execution_id = "another"; }},
      {"grant_wrong_command",
       [&](GrantBinding& b) {
         b.command_digest = CommandDigest(Command::Shell("true", command.working_directory));
       }},
      {"grant_wrong_directory",
       [&](GrantBinding& b) { b.working_directory = sandbox.ground().outside(); }},
      {"grant_wrong_profile",
       [&](GrantBinding& b) { b.profile_fingerprint = other_profile.Fingerprint(); }},
      {"grant_wrong_route", [](GrantBinding& b) { b.route_fingerprint = "another"; }},
      {"grant_wrong_guarantees",
       [](GrantBinding& b) { b.guarantees = static_cast<std::uint8_t>(b.guarantees ^ 1U); }},
  };
  for (const auto& row : table) {
    INFO(row.code);
    GrantBinding binding = sandbox.executor().BindingFor(command, "e1");
    row.change(binding);
    const auto grant = sandbox.executor().grant_authority()->Issue(binding, GrantSubject{},
                                                                   GrantAuthority::kDefaultTtl);
    REQUIRE(grant.ok());
    CHECK(CodeOf(sandbox.Run(command, "e1", {*grant}).status()) == row.code);
  }
  CHECK(sandbox.Noted() == 0);
}

TEST_CASE("a grant does not move to another command, form or folder") {
  GatedSandbox sandbox;
  const std::string other_folder = sandbox.ground().MakeFolder("sub");
  const Command argv = Command::Argv({"touch", "made"}, sandbox.ground().workspace());
  const auto grant = sandbox.GrantFor(argv, "e1");
  REQUIRE(grant.ok());
  const auto code = [&](const Command& command) {
    return CodeOf(sandbox.Run(command, "e1", {*grant}).status());
  };
  CHECK(code(Command::Shell("touch made", sandbox.ground().workspace())) == "grant_wrong_command");
  CHECK(code(Command::Argv({"touch", "made", "too"}, sandbox.ground().workspace())) ==
        "grant_wrong_command");
  CHECK_FALSE(sandbox.ground().Exists("made"));
  const auto second = sandbox.GrantFor(argv, "e2");
  REQUIRE(second.ok());
  CHECK(CodeOf(sandbox.Run(Command::Argv({"touch", "made"}, other_folder), "e2", {*second})
                   .status()) == "grant_wrong_directory");
  CHECK_FALSE(sandbox.ground().Exists("sub/made"));
  CHECK(CodeOf(sandbox.Run(argv, "e2", {*second}).status()) == "ok");
  CHECK(sandbox.ground().Exists("made"));
}

TEST_CASE("a grant does not move to another executor") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  RunOptions options;
  options.execution_id = "e1";
  options.grants = {*grant};
  const auto ran = sandbox.AnotherExecutor()->Run(sandbox.Noting(), options);
  CHECK(CodeOf(ran.status()) == "grant_wrong_executor");
  CHECK(sandbox.Noted() == 0);
}

TEST_CASE("wrong uses burn a grant after a few tries") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  for (int i = 0; i < kMaxGrantFaults; ++i) {
    CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "wrong", {*grant}).status()) ==
          "grant_wrong_execution");
  }
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant}).status()) == "grant_revoked");
  CHECK(sandbox.Noted() == 0);
}

TEST_CASE("a batch with one bad grant spends none") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  CHECK_FALSE(sandbox.Run(sandbox.Noting(), "e1", {*grant, Grant("v1.x.y")}).ok());
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant, *grant}).status()) == "grant_replayed");
  CHECK(sandbox.Noted() == 0);
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant}).status()) == "ok");
}

TEST_CASE("a grant is not spent on a command that cannot start") {
  GatedSandbox sandbox;
  const std::string folder = sandbox.ground().MakeFolder("sub");
  const Command command = Command::Shell("echo ran", folder);
  const auto grant = sandbox.GrantFor(command, "e1");
  REQUIRE(grant.ok());
  sandbox.ground().Remove("sub");
  CHECK(CodeOf(sandbox.Run(command, "e1", {*grant}).status()) == "not_found");
  sandbox.ground().MakeFolder("sub");
  CHECK(CodeOf(sandbox.Run(command, "e1", {*grant}).status()) == "ok");
}

TEST_CASE("preparing a process spends its grant whether it is started or not") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  ProcessOptions options;
  options.execution_id = "e1";
  options.grants = {*grant};
  CHECK(CodeOf(sandbox.executor().PrepareProcess(sandbox.Noting(), options).status()) == "ok");
  CHECK(CodeOf(sandbox.executor().PrepareProcess(sandbox.Noting(), options).status()) ==
        "grant_replayed");
  CHECK(sandbox.Noted() == 0);
}

TEST_CASE("closing the set revokes every grant") {
  GatedSandbox sandbox;
  const auto grant = sandbox.GrantFor(sandbox.Noting(), "e1");
  REQUIRE(grant.ok());
  CHECK(CodeOf(sandbox.set().Close()) == "ok");
  CHECK(CodeOf(sandbox.Run(sandbox.Noting(), "e1", {*grant}).status()) == "closed");
  CHECK(CodeOf(sandbox.GrantFor(sandbox.Noting(), "e2").status()) == "closed");
  CHECK(sandbox.Noted() == 0);
}

}  // namespace
}  // namespace cordon::test
