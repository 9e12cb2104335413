// While a question stands on the terminal, keys are for it and not for the command, and the
// command's output does not run through it.

#ifndef CORDON_TOOLS_CLI_SRC_TERMINAL_PAUSE_H_
#define CORDON_TOOLS_CLI_SRC_TERMINAL_PAUSE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "cordon/gate/approver.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::cli {

class RawTerminal;

// Whether relays rest. Safe from any thread.
class TerminalPause {
 public:
  TerminalPause();

  [[nodiscard]] bool is_on() const { return on_; }
  // Held while something passes; not held when there is a pause, which none begins meanwhile.
  [[nodiscard]] std::unique_lock<std::mutex> Pass() const;
  // Readable after a change, until `Drain`.
  [[nodiscard]] int fd() const { return event_.get(); }
  void Drain() const;

  // Returns when nothing passes any more and the terminal is as its owner left it.
  void Begin();
  void End();

  // A terminal that is raw but for the pauses; null: none any more. Borrowed.
  void Use(RawTerminal* terminal);

 private:
  void Tell() const;

  mutable std::mutex passing_;
  std::atomic<bool> on_{false};
  RawTerminal* terminal_ = nullptr;
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
