// All short histories of one grant: two executors' threads that verify and consume, time that goes
// on and back, wrong uses, a closed authority, a program that crashes and starts anew. Whatever the
// order, at most one command starts, and none after the grant's end.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cordon/gate/grants.h"
#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon {
namespace {

using std::chrono::milliseconds;

enum class Step : std::uint8_t {
  kFirstVerifies,
  kFirstConsumes,
  kSecondVerifies,
  kSecondConsumes,
  kWrongUse,
  kTimePasses,
  kClockStepsBack,
  kClose,
  kCrash,
};
constexpr int kSteps = 9;

GrantBinding Binding() {
  GrantBinding binding;
  binding.executor_id = "executor";
  binding.execution_id = "execution";
  binding.working_directory = "/code";
  binding.route_fingerprint = "direct";
  return binding;
}

// One history, and the rule that it is held against: one start at most, none once it has ended.
class History {
 public:
  History() {
    Restart();
    token_ = authority_->Issue(Binding(), {}, milliseconds(100))->token();
  }

  void Take(Step step) {
    switch (step) {
      case Step::kFirstVerifies:
        return Verify(0);
      case Step::kSecondVerifies:
        return Verify(1);
      case Step::kFirstConsumes:
        return Consume(0);
      case Step::kSecondConsumes:
        return Consume(1);
      case Step::kWrongUse: {
        GrantBinding other = Binding();
        other.working_directory = "/elsewhere";
        const Grant grant(token_);
        const bool fits = authority_->Verify(absl::MakeConstSpan(&grant, 1), other).ok();
        good_ = good_ && !fits;
        return;
      }
      case Step::kTimePasses:
        *now_ += 101;
        LookAtClock();
        return;
      case Step::kClockStepsBack:
        *now_ -= 101;
        return;
      case Step::kClose:
        authority_->Close();
        seen_end_ = true;
        return;
      case Step::kCrash:
        // What was in memory is gone: redemptions, ledger and key. The token may have survived.
        redemptions_ = {};
        Restart();
        seen_end_ = true;
        return;
    }
  }

  [[nodiscard]] bool good() const { return good_ && starts_ <= 1; }

 private:
  void Restart() {
    GrantAuthorityOptions options;
    options.clock = [now = now_] { return milliseconds(*now); };
    authority_ = NewHmacGrantAuthority("executor", std::move(options)).value();
  }

  // The authority looks at its clock whenever it is asked for anything.
  void LookAtClock() {
    (void)authority_->Issue(Binding(), {}, milliseconds(1)).ok();
    if (*now_ > 1100) seen_end_ = true;
  }

  void Verify(std::size_t who) {
    const Grant grant(token_);
    auto redemption = authority_->Verify(absl::MakeConstSpan(&grant, 1), Binding());
    if (!redemption.ok()) return;
    // A grant that was spent, or that an authority has seen end, does not even verify.
    good_ = good_ && starts_ == 0 && !seen_end_;
    redemptions_[who] = *std::move(redemption);
  }

  void Consume(std::size_t who) {
    if (redemptions_[who] == nullptr) return;
    if (!redemptions_[who]->Consume().ok()) return;
    ++starts_;
    good_ = good_ && !seen_end_;
  }

  std::shared_ptr<int> now_ = std::make_shared<int>(1000);
  std::shared_ptr<GrantAuthority> authority_;
  std::string token_;
  std::array<std::unique_ptr<Redemption>, 2> redemptions_;
  int starts_ = 0;
  bool seen_end_ = false;  // Expired, closed or crashed: nothing may revive it.
  bool good_ = true;
};

std::string Text(const std::vector<Step>& steps) {
  std::string text;
  for (const Step step : steps) text += std::to_string(static_cast<int>(step)) + " ";
  return text;
}

TEST_CASE("in no history of six steps does a grant start two commands") {
  constexpr int kLength = 6;
  std::size_t histories = 0;
  std::size_t number = 1;
  for (int i = 0; i < kLength; ++i) number *= kSteps;
  for (std::size_t code = 0; code < number; ++code) {
    std::vector<Step> steps;
    std::size_t rest = code;
    for (int i = 0; i < kLength; ++i, rest /= kSteps) {
      steps.push_back(static_cast<Step>(rest % kSteps));
    }
    // Others cannot start two commands.
    const auto verifications = std::count_if(steps.begin(), steps.end(), [](Step step) {
      return step == Step::kFirstVerifies || step == Step::kSecondVerifies;
    });
    const auto consumptions = std::count_if(steps.begin(), steps.end(), [](Step step) {
      return step == Step::kFirstConsumes || step == Step::kSecondConsumes;
    });
    // The two threads are alike: the first to verify may be called the first.
    const auto verifies = std::find_if(steps.begin(), steps.end(), [](Step step) {
      return step == Step::kFirstVerifies || step == Step::kSecondVerifies;
    });
    if (verifications < 1 || consumptions < 2 || *verifies != Step::kFirstVerifies) continue;
    History history;
    for (const Step step : steps) history.Take(step);
    ++histories;
    if (!history.good()) FAIL("a grant was used twice, or after its end, in " << Text(steps));
  }
  CHECK(histories > 30'000);
}

TEST_CASE("a grant of one process is worth nothing in another") {
  const auto authority = NewHmacGrantAuthority("executor").value();
  const Grant grant = authority->Issue(Binding(), {}, milliseconds(60'000)).value();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Started anew it has a key of its own, although it knows the token.
    const auto own = NewHmacGrantAuthority("executor").value();
    const bool refused = !own->Verify(absl::MakeConstSpan(&grant, 1), Binding()).ok();
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(authority->Verify(absl::MakeConstSpan(&grant, 1), Binding()).ok());
}

}  // namespace
}  // namespace cordon
