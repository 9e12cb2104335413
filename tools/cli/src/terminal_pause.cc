#include "terminal_pause.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "raw_terminal.h"

namespace cordon::cli {

TerminalPause::TerminalPause() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void TerminalPause::Drain() const {
  std::uint64_t changes = 0;
  [[maybe_unused]] const ssize_t count = ::read(event_.get(), &changes, sizeof changes);
}

std::unique_lock<std::mutex> TerminalPause::Pass() const {
  std::unique_lock lock(passing_);
  if (on_) lock.unlock();
  return lock;
}

void TerminalPause::Begin() {
  const std::lock_guard lock(passing_);
  on_ = true;
  if (terminal_ != nullptr) terminal_->Suspend();
  Tell();
}

void TerminalPause::End() {
  const std::lock_guard lock(passing_);
  if (terminal_ != nullptr) terminal_->Resume();
  on_ = false;
  Tell();
}

void TerminalPause::Use(RawTerminal* terminal) {
  const std::lock_guard lock(passing_);
  terminal_ = terminal;
  if (on_ && terminal_ != nullptr) terminal_->Suspend();
}

void TerminalPause::Tell() const {
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then it is readable already.
  [[maybe_unused]] const ssize_t count = ::write(event_.get(), &one, sizeof one);
}

absl::StatusOr<ApprovalAnswer> PausingApprover::Ask(const ApprovalCard& card,
                                                    std::stop_token stop) {
  pause_->Begin();
  absl::StatusOr<ApprovalAnswer> answer = terminal_.Ask(card, std::move(stop));
  pause_->End();
  return answer;
}

absl::StatusOr<std::vector<ApprovalAnswer>> PausingApprover::AskTogether(
    absl::Span<const ApprovalCard> cards, std::stop_token stop) {
  pause_->Begin();
  absl::StatusOr<std::vector<ApprovalAnswer>> answers =
      terminal_.AskTogether(cards, std::move(stop));
  pause_->End();
  return answers;
}

}  // namespace cordon::cli
