#include "cordon/gate/approver.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string_view>

#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "terminal.h"

namespace cordon {
namespace {

absl::Status NobodyThere(std::string_view why) {
  return MakeError(ErrorCode::kNoApprover,
                   "needs an approval, but nobody can be asked: " + std::string(why));
}

bool TerminalHasColor() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb" && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

absl::StatusOr<ApprovalAnswer> TerminalApprover::Ask(const ApprovalCard& card,
                                                     std::stop_token stop) {
  const UniqueFd terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!terminal.valid()) return NobodyThere("there is no terminal");
  if (tcgetpgrp(terminal.get()) != getpgrp()) {
    return NobodyThere("the terminal belongs to another job");
  }
  const bool color = options_.color && TerminalHasColor();
  return internal::AskOnTerminal(terminal.get(), card, {options_.guard, color}, stop);
}

absl::StatusOr<ApprovalAnswer> CallbackApprover::Ask(const ApprovalCard& card,
                                                     std::stop_token stop) {
  if (!ask_) return NobodyThere("the application gave no callback");
  try {
    return ask_(card, std::move(stop));
  } catch (const std::exception&) {
    return NobodyThere("the application's callback failed");
  }
}

absl::StatusOr<ApprovalAnswer> ScriptedApprover::Ask(const ApprovalCard& card,
                                                     std::stop_token stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "cancelled");
  const std::lock_guard lock(mutex_);
  cards_.push_back(card);
  if (answers_.empty()) return NobodyThere("the script has no answer left");
  ApprovalAnswer answer = std::move(answers_.front());
  answers_.erase(answers_.begin());
  if (answer.digest == Digest{}) answer.digest = card.digest;
  return answer;
}

std::vector<ApprovalCard> ScriptedApprover::cards() const {
  const std::lock_guard lock(mutex_);
  return cards_;
}

absl::StatusOr<ApprovalAnswer> ApproveEverything::Ask(const ApprovalCard& card,
                                                      std::stop_token stop) {
  if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "cancelled");
  return ApprovalAnswer{true, Remember::kOnce, "", card.digest};
}

absl::StatusOr<ApprovalAnswer> NoApprover::Ask(const ApprovalCard&, std::stop_token) {
  return NobodyThere("no approver is configured");
}

}  // namespace cordon
