// Who answers a Gate's questions: a person at the terminal, the host application, a test, or
// nobody.

#ifndef CORDON_GATE_APPROVER_H_
#define CORDON_GATE_APPROVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/admission.h"

namespace cordon {

// Asks on the controlling terminal, which it opens itself: standard input is never read, so nothing
// that is piped in can pass for a person. Whatever was typed before the question, and until the
// terminal has been quiet for `guard`, is thrown away. The terminal's mode is restored on every
// return.
//
// A question that is larger than the screen is shown in pages, and can be approved only when its
// last page was shown; after a change of the window's size it is shown again. It is written from
// top to bottom and without colour where the terminal has none, so that a screen reader can follow.
//
// Returns kNoApprover without a controlling terminal, in the background, or when not all of the
// question could be shown; kApprovalTimedOut; kCancelled, also for Ctrl-C.
class TerminalApprover : public Approver {
 public:
  struct Options {
    std::chrono::milliseconds guard{300};
    // Colour and bold where TERM is not "dumb".
    bool color = true;
  };

  TerminalApprover() = default;
  explicit TerminalApprover(Options options) : options_(options) {}
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;
  bool CanAskTogether() const override { return true; }
  absl::StatusOr<std::vector<ApprovalAnswer>> AskTogether(absl::Span<const ApprovalCard> cards,
                                                          std::stop_token stop) override;

 private:
  Options options_;
};

// Hands the question to the host application. `ask` may be called from any thread; an exception
// from it counts as nobody having answered (kNoApprover).
class CallbackApprover : public Approver {
 public:
  using Callback =
      std::function<absl::StatusOr<ApprovalAnswer>(const ApprovalCard&, std::stop_token)>;

  explicit CallbackApprover(Callback ask) : ask_(std::move(ask)) {}
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;

 private:
  Callback ask_;
};

// For tests and rehearsals: gives prepared answers in order, each for the card it is asked about,
// and remembers the cards. Returns kNoApprover when the answers are used up.
class ScriptedApprover : public Approver {
 public:
  // `digest` of an answer is replaced by the card's unless it is set.
  explicit ScriptedApprover(std::vector<ApprovalAnswer> answers) : answers_(std::move(answers)) {}
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;

  [[nodiscard]] std::vector<ApprovalCard> cards() const;

 private:
  mutable std::mutex mutex_;
  std::vector<ApprovalAnswer> answers_;
  std::vector<ApprovalCard> cards_;
};

// Says yes to everything once, and stores nothing. For tests; a report has to say that it was used.
class ApproveEverything : public Approver {
 public:
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;
};

// A card as JSON, for an application that shows it elsewhere: tool, digest, command, directory,
// details, requirements, effects, programs, what each form would store, and the seconds left. Every
// text is escaped for display.
[[nodiscard]] std::string ApprovalCardJson(const ApprovalCard& card);

// `{"digest": "...", "approved": true, "remember": "once", "form": 0, "words": "..."}`, of which
// the last three may be missing. Returns kInvalidArguments for anything else. Whether the digest is
// that of the card is for the Gate to check.
[[nodiscard]] absl::StatusOr<ApprovalAnswer> ApprovalAnswerFromJson(std::string_view json);

// Nobody is there: kNoApprover at once.
class NoApprover : public Approver {
 public:
  absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card, std::stop_token stop) override;
};

}  // namespace cordon

#endif  // CORDON_GATE_APPROVER_H_
