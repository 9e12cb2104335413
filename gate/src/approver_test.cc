#include "cordon/gate/approver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

ApprovalCard SomeCard() {
  ApprovalCard card;
  card.digest.fill(3);
  card.expires = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  return card;
}

TEST_CASE("without a controlling terminal nobody can be asked") {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    TerminalApprover approver;
    const auto answer = approver.Ask(SomeCard(), {});
    _exit(Is(answer.status(), ErrorCode::kNoApprover) ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a callback answers, or counts as nobody when it throws or is missing") {
  CallbackApprover yes([](const ApprovalCard& card, std::stop_token) {
    return ApprovalAnswer{true, Remember::kOnce, "", card.digest};
  });
  CHECK(yes.Ask(SomeCard(), {})->approved);
  CallbackApprover throwing([](const ApprovalCard&, std::stop_token) -> ApprovalAnswer {
    throw std::runtime_error("no window");
  });
  CHECK(Is(throwing.Ask(SomeCard(), {}).status(), ErrorCode::kNoApprover));
  CallbackApprover missing(nullptr);
  CHECK(Is(missing.Ask(SomeCard(), {}).status(), ErrorCode::kNoApprover));
}

TEST_CASE("a script answers in order and remembers the questions") {
  ScriptedApprover script({{true, Remember::kOnce, "", {}}, {false, Remember::kOnce, "no", {}}});
  CHECK(script.Ask(SomeCard(), {})->approved);
  const ApprovalAnswer second = script.Ask(SomeCard(), {}).value();
  CHECK_FALSE(second.approved);
  CHECK(second.words == "no");
  CHECK(second.digest == SomeCard().digest);
  CHECK(Is(script.Ask(SomeCard(), {}).status(), ErrorCode::kNoApprover));
  CHECK(script.cards().size() == 3);
}

TEST_CASE("the two fixed approvers say always yes and always nobody") {
  ApproveEverything everything;
  CHECK(everything.Ask(SomeCard(), {})->approved);
  CHECK(everything.Ask(SomeCard(), {})->remember == Remember::kOnce);
  NoApprover nobody;
  CHECK(Is(nobody.Ask(SomeCard(), {}).status(), ErrorCode::kNoApprover));
}

}  // namespace
}  // namespace cordon
