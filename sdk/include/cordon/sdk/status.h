// The errors of cordon: an `absl::Status` for "we could not", carrying a typed `Error` that
// survives wrapping and annotation. "It ran and this happened" is never a status; see `RunResult`.
// Messages are lower case, say what was attempted, on what, and what to do, and hold no secret.

#ifndef CORDON_SDK_STATUS_H_
#define CORDON_SDK_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace cordon {

// What went wrong, one value per thing that a caller may want to tell apart. The canonical status
// code follows from it (see `CanonicalCode`). Names (`ErrorCodeName`) are stable: reports, logs and
// the text for a model use them.
enum class ErrorCode : std::uint16_t {
  kInternal = 0,  // A fault of cordon itself.

  // Malformed input: absl kInvalidArgument.
  kInvalidProfile,
  kInvalidCommand,
  kInvalidTarget,
  kInvalidScope,
  kInvalidRequest,    // A tool's Request contradicts itself.
  kInvalidArguments,  // A model's arguments do not fit the tool.
  kInvalidOption,
  kInvalidRules,  // A rule file is damaged or not to be trusted: nothing is decided by it.
  kGrantMalformed,

  // Refusals. kPolicyDenied, kDeniedByRule, kRefusedByPerson: absl kPermissionDenied.
  kPolicyDenied,      // The profile says Deny.
  kDeniedByRule,      // A stored deny rule.
  kRefusedByPerson,   // A person said no.
  kNoApprover,        // Gated, and nobody is there to ask: absl kFailedPrecondition.
  kApprovalTimedOut,  // Gated, and nobody answered in time: absl kDeadlineExceeded.
  kApprovalStale,     // The answer was for another card, or the policy changed meanwhile.
  kGrantRequired,     // Gated, and no grant was presented: absl kFailedPrecondition.
  kPathEscape,        // A path leads out of where it must stay: absl kPermissionDenied.

  // Grants that do not fit: absl kUnauthenticated.
  kGrantForged,
  kGrantExpired,
  kGrantReplayed,
  kGrantRevoked,
  kGrantWrongExecutor,
  kGrantWrongExecution,
  kGrantWrongCommand,
  kGrantWrongDirectory,
  kGrantWrongProfile,
  kGrantWrongRoute,
  kGrantWrongGuarantees,
  kGrantWrongTarget,
  kTargetChanged,  // The granted path is another object now.
  kGrantTtl,       // A life time beyond the maximum was asked for: absl kInvalidArgument.

  // The host and its limits.
  kUnavailable,  // The host lacks a required layer: absl kUnimplemented. Says which, and the fix.
  kSetupFailed,  // A confinement step failed: absl kAborted. `step` and `error_number` are set.
  kClosed,       // The object was closed: absl kFailedPrecondition.
  kNotFound,     // A file or folder that must be there is not: absl kNotFound.
  kBusy,         // A bounded resource is used up: absl kResourceExhausted.
  kTimeLimit,    // absl kDeadlineExceeded.
  kOutputLimit,  // absl kResourceExhausted.
  kCancelled,    // absl kCancelled.
  kToolFailed,   // A tool threw or broke its contract: absl kInternal.
  kLogFailed,    // A required audit log cannot be written: absl kUnavailable.
};

// The typed payload of a status.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string step;      // Which confinement step, e.g. "mount.proc"; empty when none was involved.
  int error_number = 0;  // errno of that step; 0 when none.

  friend bool operator==(const Error&, const Error&) = default;
};

// The stable snake_case name, e.g. "grant_replayed".
[[nodiscard]] std::string_view ErrorCodeName(ErrorCode code);

[[nodiscard]] absl::StatusCode CanonicalCode(ErrorCode code);

// A status with `code` as its payload and the canonical code that belongs to it.
[[nodiscard]] absl::Status MakeError(ErrorCode code, std::string_view message);

// A failed step of setting up confinement: kSetupFailed with step and errno. The message is
// "MESSAGE: STEP: TEXT-OF-ERRNO".
[[nodiscard]] absl::Status MakeSetupFailure(std::string_view step, int error_number,
                                            std::string_view message);

// An ordinary failed system call, e.g. "cannot open /x: No such file or directory". ENOENT becomes
// kNotFound, everything else kInternal with `error_number` set.
[[nodiscard]] absl::Status MakeErrnoError(int error_number, std::string_view message);

// The payload; nothing for an OK status or one that cordon did not make.
[[nodiscard]] std::optional<Error> ErrorOf(const absl::Status& status);

// True when `status` carries exactly this code.
[[nodiscard]] bool Is(const absl::Status& status, ErrorCode code);

// The same error with `prefix` and ": " before the message; the payload survives.
[[nodiscard]] absl::Status Annotate(const absl::Status& status, std::string_view prefix);

}  // namespace cordon

#endif  // CORDON_SDK_STATUS_H_
