#include "cordon/gate/approver.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

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

// The terminal behind /dev/tty under its own name; invalid where it has none here. All terminals
// share /dev/tty, so that a lock on that would be one for all of them.
UniqueFd OpenByName(int controlling) {
  unsigned int device = 0;
  if (ioctl(controlling, TIOCGDEV, &device) != 0) return UniqueFd();
  constexpr unsigned int kFirstPtsMajor =
      136;  // To 143, see Documentation/admin-guide/devices.txt.
  constexpr unsigned int kPtsMajors = 8;
  const unsigned int pts = major(device) - kFirstPtsMajor;
  const std::string name = pts < kPtsMajors
                               ? "/dev/pts/" + std::to_string(pts * 256 + minor(device))
                               : "/dev/tty" + std::to_string(minor(device));
  UniqueFd terminal(open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat info {};
  const bool same = terminal.valid() && fstat(terminal.get(), &info) == 0 && info.st_rdev == device;
  return same ? std::move(terminal) : UniqueFd();
}

// Waits until no other program asks on the terminal; closing the descriptor gives the turn up.
absl::Status AwaitTurn(int terminal, std::chrono::steady_clock::time_point expires,
                       const std::stop_token& stop) {
  while (flock(terminal, LOCK_EX | LOCK_NB) != 0) {
    // Where there are no locks there is no turn to wait for.
    if (errno != EWOULDBLOCK && errno != EINTR) return absl::OkStatus();
    if (stop.stop_requested()) return MakeError(ErrorCode::kCancelled, "cancelled");
    if (std::chrono::steady_clock::now() >= expires) {
      return MakeError(ErrorCode::kApprovalTimedOut,
                       "another question stood on the terminal for all of the time");
    }
    (void)poll(nullptr, 0, 20);
  }
  return absl::OkStatus();
}

struct AskingTerminal {
  UniqueFd terminal;
  UniqueFd turn;
};

// Opens the controlling terminal, if this program may ask there, when it is its turn.
absl::StatusOr<AskingTerminal> OpenTerminal(std::chrono::steady_clock::time_point expires,
                                            const std::stop_token& stop) {
  AskingTerminal asking;
  UniqueFd& terminal = asking.terminal;
  terminal = UniqueFd(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!terminal.valid()) return NobodyThere("there is no terminal");
  if (tcgetpgrp(terminal.get()) != getpgrp()) {
    return NobodyThere("the terminal belongs to another job");
  }
  asking.turn = OpenByName(terminal.get());
  if (!asking.turn.valid()) return asking;
  if (absl::Status status = AwaitTurn(asking.turn.get(), expires, stop); !status.ok()) {
    return status;
  }
  return asking;
}

}  // namespace

absl::StatusOr<ApprovalAnswer> TerminalApprover::Ask(const ApprovalCard& card,
                                                     std::stop_token stop) {
  const absl::StatusOr<AskingTerminal> asking = OpenTerminal(card.expires, stop);
  if (!asking.ok()) return asking.status();
  const bool color = options_.color && TerminalHasColor();
  return internal::AskOnTerminal(asking->terminal.get(), card, {options_.guard, color}, stop);
}

absl::StatusOr<std::vector<ApprovalAnswer>> TerminalApprover::AskTogether(
    absl::Span<const ApprovalCard> cards, std::stop_token stop) {
  if (cards.empty()) return std::vector<ApprovalAnswer>();
  const absl::StatusOr<AskingTerminal> asking = OpenTerminal(cards.front().expires, stop);
  if (!asking.ok()) return asking.status();
  const bool color = options_.color && TerminalHasColor();
  return internal::AskTogetherOnTerminal(asking->terminal.get(), cards, {options_.guard, color},
                                         stop);
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
