// While a question stands on the terminal, keys are for it and not for the command, and the
// command's output does not run through it.

#ifndef CORDON_TOOLS_CLI_SRC_TERMINAL_PAUSE_H_
#define CORDON_TOOLS_CLI_SRC_TERMINAL_PAUSE_H_

#include <atomic>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "cordon/gate/approver.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::cli {

// Whether relays rest. Safe from any thread.
class TerminalPause {
 public:
  TerminalPause();

  [[nodiscard]] bool is_on() const { return on_; }
  // Readable after a change, until `Drain`.
  [[nodiscard]] int fd() const { return event_.get(); }
  void Drain() const;
  void Set(bool on);

 private:
  std::atomic<bool> on_{false};
  UniqueFd event_;
};

// Asks on the terminal with the relays at rest.
class PausingApprover : public Approver {
 public:
  explicit PausingApprover(std::shared_ptr<TerminalPause> pause) : pause_(std::move(pause)) {}
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;
  bool CanAskTogether() const override { return terminal_.CanAskTogether(); }
  absl::StatusOr<std::vector<ApprovalAnswer>> AskTogether(absl::Span<const ApprovalCard> cards,
                                                          std::stop_token stop) override;

 private:
  const std::shared_ptr<TerminalPause> pause_;
  TerminalApprover terminal_;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_TERMINAL_PAUSE_H_
