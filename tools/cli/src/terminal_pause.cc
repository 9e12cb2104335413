#include "terminal_pause.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace cordon::cli {

TerminalPause::TerminalPause() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void TerminalPause::Drain() const {
  std::uint64_t changes = 0;
  [[maybe_unused]] const ssize_t count = ::read(event_.get(), &changes, sizeof changes);
}

void TerminalPause::Set(bool on) {
  on_ = on;
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then it is readable already.
  [[maybe_unused]] const ssize_t count = ::write(event_.get(), &one, sizeof one);
}

absl::StatusOr<ApprovalAnswer> PausingApprover::Ask(const ApprovalCard& card,
                                                    std::stop_token stop) {
  pause_->Set(true);
  absl::StatusOr<ApprovalAnswer> answer = terminal_.Ask(card, std::move(stop));
  pause_->Set(false);
  return answer;
}

absl::StatusOr<std::vector<ApprovalAnswer>> PausingApprover::AskTogether(
    absl::Span<const ApprovalCard> cards, std::stop_token stop) {
  pause_->Set(true);
  absl::StatusOr<std::vector<ApprovalAnswer>> answers =
      terminal_.AskTogether(cards, std::move(stop));
  pause_->Set(false);
  return answers;
}

}  // namespace cordon::cli
