#include "terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "cordon/gate/approver.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A terminal of its own with a question on it; the test is the person.
class TerminalBench {
 public:
  TerminalBench() {
    person_ = UniqueFd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(grantpt(person_.get()) == 0);
    REQUIRE(unlockpt(person_.get()) == 0);
    char name[64];
    REQUIRE(ptsname_r(person_.get(), name, sizeof name) == 0);
    terminal_ = UniqueFd(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    REQUIRE(terminal_.valid());
    REQUIRE(tcgetattr(terminal_.get(), &before_) == 0);
    card.request.tool = "bash";
    card.request.command = Command::Shell("make", "/w");
    card.pending = {RequireCommand(*card.request.command)};
    card.request.authority = card.pending;
    card.would_store = {"allow exact \"make\""};
    card.can_persist = true;
    card.digest.fill(9);
    card.expires = steady_clock::now() + std::chrono::seconds(20);
  }
  ~TerminalBench() {
    if (asking_.joinable()) asking_.join();
  }

  void StartAsking(milliseconds guard = milliseconds(40)) {
    asking_ = std::thread([this, guard] {
      answer_ = AskOnTerminal(terminal_.get(), card, {guard, false}, stop.get_token());
    });
  }
  absl::StatusOr<ApprovalAnswer> Answer() {
    asking_.join();
    return answer_;
  }
  absl::StatusOr<ApprovalAnswer> Ask(milliseconds guard = milliseconds(40)) {
    StartAsking(guard);
    return Answer();
  }

  void Type(std::string_view keys) {
    REQUIRE(write(person_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  }
  // Reads the screen until it shows `text`.
  void AwaitScreen(std::string_view text) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(10);
    while (screen.find(text) == std::string::npos) {
      REQUIRE(steady_clock::now() < deadline);
      ReadScreen(milliseconds(100));
    }
  }
  // Until nothing was shown for longer than the guard takes: keys count from then on.
  void AwaitKeysCount() {
    AwaitScreen("nothing runs");
    while (ReadScreen(milliseconds(150))) {
    }
  }
  bool ReadScreen(milliseconds wait) {
    pollfd ready{person_.get(), POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return false;
    char buffer[4096];
    const ssize_t count = read(person_.get(), buffer, sizeof buffer);
    if (count > 0) screen.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }
  [[nodiscard]] bool ModeIsRestored() const {
    termios now{};
    return tcgetattr(terminal_.get(), &now) == 0 && now.c_lflag == before_.c_lflag &&
           now.c_iflag == before_.c_iflag && now.c_cc[VMIN] == before_.c_cc[VMIN];
  }
  void HangUp() { person_.Reset(); }

  ApprovalCard card;
  std::stop_source stop;
  std::string screen;

 private:
  UniqueFd person_;
  UniqueFd terminal_;
  termios before_{};
  std::thread asking_;
  absl::StatusOr<ApprovalAnswer> answer_ = absl::UnknownError("not asked");
};

struct KeyCase {
  std::string_view key;
  bool approved;
  Remember remember;
};

TEST_CASE("one key answers the question") {
  for (const KeyCase& key_case :
       {KeyCase{"y", true, Remember::kOnce}, KeyCase{"s", true, Remember::kSession},
        KeyCase{"a", true, Remember::kAlways}, KeyCase{"n", false, Remember::kOnce},
        KeyCase{"\r", false, Remember::kOnce}, KeyCase{"\x1b", false, Remember::kOnce}}) {
    TerminalBench bench;
    CAPTURE(key_case.key);
    bench.StartAsking();
    bench.AwaitKeysCount();
    bench.Type(key_case.key);
    const ApprovalAnswer answer = bench.Answer().value();
    CHECK(answer.approved == key_case.approved);
    CHECK(answer.remember == key_case.remember);
    CHECK(answer.digest == bench.card.digest);
    CHECK(bench.ModeIsRestored());
  }
}

TEST_CASE("what was typed before the question is not taken for an answer") {
  TerminalBench bench;
  bench.card.expires = steady_clock::now() + milliseconds(600);
  bench.Type("y\ny\ny");
  CHECK(Is(bench.Ask().status(), ErrorCode::kApprovalTimedOut));
  CHECK(bench.ModeIsRestored());
}

TEST_CASE("what is typed before the terminal was quiet is not taken for an answer") {
  TerminalBench bench;
  bench.card.expires = steady_clock::now() + milliseconds(900);
  bench.StartAsking(milliseconds(400));
  bench.AwaitScreen("nothing runs");
  bench.Type("y");
  CHECK(Is(bench.Answer().status(), ErrorCode::kApprovalTimedOut));
}

TEST_CASE("a flood of answers never becomes quiet") {
  TerminalBench bench;
  bench.card.expires = steady_clock::now() + milliseconds(500);
  bench.StartAsking();
  while (steady_clock::now() < bench.card.expires) {
    bench.Type("y");
    (void)bench.ReadScreen(milliseconds(2));
  }
  CHECK(Is(bench.Answer().status(), ErrorCode::kApprovalTimedOut));
}

TEST_CASE("pasted text is not taken for an answer, a key after it is") {
  TerminalBench bench;
  bench.StartAsking();
  bench.AwaitKeysCount();
  bench.Type("yes please");
  bench.AwaitScreen("one key, please");
  bench.Type("y");
  CHECK(bench.Answer()->approved);
}

TEST_CASE("a refusal can carry words for the model") {
  TerminalBench bench;
  bench.StartAsking();
  bench.AwaitKeysCount();
  bench.Type("e");
  bench.AwaitScreen("say why");
  bench.Type("use cmake\n");
  const ApprovalAnswer answer = bench.Answer().value();
  CHECK_FALSE(answer.approved);
  CHECK(answer.words == "use cmake");
  CHECK(bench.ModeIsRestored());
}

TEST_CASE("control-C ends the question without an answer") {
  TerminalBench bench;
  bench.StartAsking();
  bench.AwaitKeysCount();
  bench.Type("\x03");
  CHECK(Is(bench.Answer().status(), ErrorCode::kCancelled));
  CHECK(bench.ModeIsRestored());
}

TEST_CASE("a question can be cancelled, also while words are typed") {
  TerminalBench waiting;
  waiting.StartAsking();
  waiting.AwaitScreen("nothing runs");
  waiting.stop.request_stop();
  CHECK(Is(waiting.Answer().status(), ErrorCode::kCancelled));
  CHECK(waiting.ModeIsRestored());

  TerminalBench typing;
  typing.StartAsking();
  typing.AwaitKeysCount();
  typing.Type("e");
  typing.AwaitScreen("say why");
  typing.Type("half a sen");
  typing.stop.request_stop();
  CHECK(Is(typing.Answer().status(), ErrorCode::kCancelled));
  CHECK(typing.ModeIsRestored());
}

TEST_CASE("a question that nobody answers times out") {
  TerminalBench bench;
  bench.card.expires = steady_clock::now() + milliseconds(300);
  CHECK(Is(bench.Ask().status(), ErrorCode::kApprovalTimedOut));
  CHECK(bench.ModeIsRestored());
}

TEST_CASE("a terminal that goes away is nobody") {
  TerminalBench bench;
  bench.StartAsking();
  bench.AwaitKeysCount();
  bench.HangUp();
  CHECK(Is(bench.Answer().status(), ErrorCode::kNoApprover));
}

TEST_CASE("a screen that cannot show everything cannot approve") {
  TerminalBench bench;
  bench.card.request.command = Command::Shell(std::string(200'000, 'x'), "/w");
  bench.card.expires = steady_clock::now() + milliseconds(500);
  bench.StartAsking();  // Nobody reads the screen: its buffer fills up.
  CHECK_FALSE(bench.Answer().ok());
}

TEST_CASE("a pipe is not a terminal") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  const TerminalBench bench;
  const auto answer = AskOnTerminal(out.get(), bench.card, {milliseconds(10), false}, {});
  CHECK(Is(answer.status(), ErrorCode::kNoApprover));
}

}  // namespace
}  // namespace cordon::internal
