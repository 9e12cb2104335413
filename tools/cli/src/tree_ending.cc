#include "tree_ending.h"

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cordon::cli {
namespace {

// After the grace: for what is killed to be gone.
constexpr std::chrono::seconds kPatience{3};

}  // namespace

TreeEnding::TreeEnding(Process& process, std::optional<std::chrono::milliseconds> timeout)
    : process_(process) {
  if (timeout) deadline_ = Clock::now() + *timeout;
}

int TreeEnding::MillisecondsLeft() const {
  std::optional<Clock::time_point> next = deadline_;
  if (give_up_at_ && (!next || *give_up_at_ < *next)) next = give_up_at_;
  if (over_ || !next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void TreeEnding::Advance() {
  if (over_) return;
  if (deadline_ && Clock::now() >= *deadline_) {
    deadline_.reset();
    End(Outcome::Kind::kTimedOut, ProcessSignal::kTerminate);
  }
  if (!give_up_at_ || Clock::now() < *give_up_at_) return;
  give_up_at_.reset();
  gave_up_ = !process_.Close().ok();
  over_ = true;
}

void TreeEnding::End(Outcome::Kind reason, ProcessSignal signal) {
  if (over_) return;
  if (!ended_by_) ended_by_ = reason;
  // A program may take an interrupt for something else than its end.
  if (signal != ProcessSignal::kInterrupt && !give_up_at_) {
    give_up_at_ = Clock::now() + Process::kGrace + kPatience;
  }
  process_.Signal(signal).IgnoreError();
}

void TreeEnding::EndBySignal(int signal) {
  End(Outcome::Kind::kCancelled,
      signal == SIGINT ? ProcessSignal::kInterrupt : ProcessSignal::kTerminate);
}

absl::StatusOr<RunResult> TreeEnding::Result() {
  if (gave_up_) {
    RunResult result;
    result.outcome.kind = ended_by_.value_or(Outcome::Kind::kCancelled);
    result.outcome.wall =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started_);
    result.end_proved = false;
    return result;
  }
  auto result = process_.Wait();
  if (result.ok() && ended_by_) result->outcome.kind = *ended_by_;
  return result;
}

}  // namespace cordon::cli
