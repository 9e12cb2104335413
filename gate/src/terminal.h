// Asking on a terminal: modes, type-ahead, waiting.

#ifndef CORDON_GATE_SRC_TERMINAL_H_
#define CORDON_GATE_SRC_TERMINAL_H_

#include <chrono>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/admission.h"

namespace cordon::internal {

struct TerminalPromptOptions {
  std::chrono::milliseconds guard{300};
  bool color = false;
};

// Asks on the terminal behind `fd`, opened with O_NONBLOCK: a terminal that is stopped must not
// keep the question from ending. Errors of `TerminalApprover`.
[[nodiscard]] absl::StatusOr<ApprovalAnswer> AskOnTerminal(int fd, const ApprovalCard& card,
                                                           const TerminalPromptOptions& options,
                                                           const std::stop_token& stop);

// The same for the calls of one step on one card, at most `kMaxCallsTogether`.
[[nodiscard]] absl::StatusOr<std::vector<ApprovalAnswer>> AskTogetherOnTerminal(
    int fd, absl::Span<const ApprovalCard> cards, const TerminalPromptOptions& options,
    const std::stop_token& stop);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_TERMINAL_H_
