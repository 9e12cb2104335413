// May this exact operation have what it needs, now? A Gate (cordon/gate/gate.h) implements
// `Admission`; applications implement `Approver` or use those of cordon/gate/approver.h.

#ifndef CORDON_SDK_ADMISSION_H_
#define CORDON_SDK_ADMISSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/request.h"

namespace cordon {

// A positive decision that has not been turned into grants yet. Used by one thread.
class Admitted {
 public:
  virtual ~Admitted() = default;
  // Issues the grants, at the moment of dispatch since they live for seconds. Checks rules and
  // profile once more. Empty when everything was allowed without asking and needs no grant. Once.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Grant>> Mint() = 0;
};

// Safe from any thread.
class Admission {
 public:
  virtual ~Admission() = default;
  // Decides, waiting for a person when one has to be asked. Errors, each naming every refused
  // requirement: kInvalidRequest, kPolicyDenied, kDeniedByRule, kRefusedByPerson, kNoApprover,
  // kApprovalTimedOut, kApprovalStale, kCancelled, kLogFailed.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request& request,
                                                                        std::stop_token stop) = 0;

  // Decides about the calls of one model step together, so that a person sees them on one card.
  // One result per request, in order, each with the errors of `Admit`. Empty: this admission
  // decides one by one, and the caller calls `Admit` for each.
  [[nodiscard]] virtual std::vector<absl::StatusOr<std::unique_ptr<Admitted>>> AdmitTogether(
      absl::Span<const Request> requests, std::stop_token stop) {
    (void)requests, (void)stop;
    return {};
  }
};

// How long an approval is to hold beyond this one operation.
enum class Remember : std::uint8_t { kOnce = 0, kSession = 1, kAlways = 2 };

// Rules that an approval could store instead of the narrowest, for people.
struct RememberForm {
  std::string name;                // What is wider about it, e.g. "every use of `git status`".
  std::vector<std::string> rules;  // One line per rule.
};

// One question to a person: everything of `request` that is neither allowed nor denied already.
struct ApprovalCard {
  Request request;
  std::vector<Requirement> pending;  // What is asked about.
  Digest digest{};                   // `RequestDigest(request)`.
  // What `kSession` and `kAlways` would store, one line per rule; empty when that is not offered.
  std::vector<std::string> would_store;
  std::chrono::steady_clock::time_point expires;
  bool can_persist = false;         // Whether `kAlways` is offered: there is somewhere to store it.
  std::vector<RememberForm> wider;  // Other forms that may be chosen, the narrowest first.
  // What it will be able to do, and which files its programs are: lines for people, already
  // escaped, derived from the requirements and the text, never from the model's description.
  std::vector<std::string> effects;
  std::vector<std::string> programs;
  std::size_t waiting_behind = 0;  // Questions that wait for this one.
};

struct ApprovalAnswer {
  bool approved = false;
  Remember remember = Remember::kOnce;
  std::string words;     // A person's words for the model when refusing.
  Digest digest{};       // Of the card that was answered; any other is stale.
  std::size_t form = 0;  // What to store: 0 is `would_store`, N is `wider[N - 1]`.
};

// Safe from any thread; a Gate asks one question at a time.
class Approver {
 public:
  virtual ~Approver() = default;
  // Returns kNoApprover when nobody can be asked, kApprovalTimedOut at `card.expires`, kCancelled
  // when `stop` is requested. These are never taken for a refusal by a person.
  [[nodiscard]] virtual absl::StatusOr<ApprovalAnswer> Ask(const ApprovalCard& card,
                                                           std::stop_token stop) = 0;

  // Whether `AskTogether` may be called.
  [[nodiscard]] virtual bool CanAskTogether() const { return false; }
  // The calls of one model step on one card: one answer per card, in order, or one error for all.
  [[nodiscard]] virtual absl::StatusOr<std::vector<ApprovalAnswer>> AskTogether(
      absl::Span<const ApprovalCard> cards, std::stop_token stop) {
    (void)cards, (void)stop;
    return absl::UnimplementedError("this approver asks one by one");
  }
};

}  // namespace cordon

#endif  // CORDON_SDK_ADMISSION_H_
