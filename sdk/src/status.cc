#include "cordon/sdk/status.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace cordon {
namespace {

constexpr absl::string_view kPayloadUrl = "cordon.error.v1";

// Must stay the last one; a payload beyond it was not made by this library.
constexpr ErrorCode kLastErrorCode = ErrorCode::kLogFailed;

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

// "CODE ERRNO STEP": the step comes last, so that it may hold any character.
std::string Encode(const Error& error) {
  return absl::StrFormat("%d %d %s", static_cast<int>(error.code), error.error_number, error.step);
}

// Takes a decimal number and the blank behind it off the front of `text`.
std::optional<int> TakeNumber(std::string_view& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [next, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || next == end || *next != ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(next - text.data()) + 1);
  return number;
}

std::optional<Error> Decode(std::string_view text) {
  const std::optional<int> code = TakeNumber(text);
  if (!code || *code < 0 || *code > static_cast<int>(kLastErrorCode)) return std::nullopt;
  const std::optional<int> error_number = TakeNumber(text);
  if (!error_number) return std::nullopt;
  return Error{static_cast<ErrorCode>(*code), std::string(text), *error_number};
}

absl::Status WithError(const Error& error, std::string_view message) {
  absl::Status status(CanonicalCode(error.code), Absl(message));
  status.SetPayload(kPayloadUrl, absl::Cord(Encode(error)));
  return status;
}

std::string ErrnoText(int error_number) { return std::generic_category().message(error_number); }

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kInvalidProfile:
      return "invalid_profile";
    case ErrorCode::kInvalidCommand:
      return "invalid_command";
    case ErrorCode::kInvalidTarget:
      return "invalid_target";
    case ErrorCode::kInvalidScope:
      return "invalid_scope";
    case ErrorCode::kInvalidRequest:
      return "invalid_request";
    case ErrorCode::kInvalidArguments:
      return "invalid_arguments";
    case ErrorCode::kInvalidOption:
      return "invalid_option";
    case ErrorCode::kInvalidRules:
      return "invalid_rules";
    case ErrorCode::kGrantMalformed:
      return "grant_malformed";
    case ErrorCode::kPolicyDenied:
      return "policy_denied";
    case ErrorCode::kDeniedByRule:
      return "denied_by_rule";
    case ErrorCode::kRefusedByPerson:
      return "refused_by_person";
    case ErrorCode::kNoApprover:
      return "no_approver";
    case ErrorCode::kApprovalTimedOut:
      return "approval_timed_out";
    case ErrorCode::kApprovalStale:
      return "approval_stale";
    case ErrorCode::kGrantRequired:
      return "grant_required";
    case ErrorCode::kPathEscape:
      return "path_escape";
    case ErrorCode::kGrantForged:
      return "grant_forged";
    case ErrorCode::kGrantExpired:
      return "grant_expired";
    case ErrorCode::kGrantReplayed:
      return "grant_replayed";
    case ErrorCode::kGrantRevoked:
      return "grant_revoked";
    case ErrorCode::kGrantWrongExecutor:
      return "grant_wrong_executor";
    case ErrorCode::kGrantWrongExecution:
      return "grant_wrong_execution";
    case ErrorCode::kGrantWrongCommand:
      return "grant_wrong_command";
    case ErrorCode::kGrantWrongDirectory:
      return "grant_wrong_directory";
    case ErrorCode::kGrantWrongProfile:
      return "grant_wrong_profile";
    case ErrorCode::kGrantWrongRoute:
      return "grant_wrong_route";
    case ErrorCode::kGrantWrongGuarantees:
      return "grant_wrong_guarantees";
    case ErrorCode::kGrantWrongTarget:
      return "grant_wrong_target";
    case ErrorCode::kTargetChanged:
      return "target_changed";
    case ErrorCode::kGrantTtl:
      return "grant_ttl";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kSetupFailed:
      return "setup_failed";
    case ErrorCode::kClosed:
      return "closed";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kTimeLimit:
      return "time_limit";
    case ErrorCode::kOutputLimit:
      return "output_limit";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kToolFailed:
      return "tool_failed";
    case ErrorCode::kLogFailed:
      return "log_failed";
  }
  return "internal";
}

absl::StatusCode CanonicalCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidProfile:
    case ErrorCode::kInvalidCommand:
    case ErrorCode::kInvalidTarget:
    case ErrorCode::kInvalidScope:
    case ErrorCode::kInvalidRequest:
    case ErrorCode::kInvalidArguments:
    case ErrorCode::kInvalidOption:
    case ErrorCode::kInvalidRules:
    case ErrorCode::kGrantMalformed:
    case ErrorCode::kGrantTtl:
      return absl::StatusCode::kInvalidArgument;
    case ErrorCode::kPolicyDenied:
    case ErrorCode::kDeniedByRule:
    case ErrorCode::kRefusedByPerson:
    case ErrorCode::kPathEscape:
      return absl::StatusCode::kPermissionDenied;
    case ErrorCode::kNoApprover:
    case ErrorCode::kApprovalStale:
    case ErrorCode::kGrantRequired:
    case ErrorCode::kClosed:
      return absl::StatusCode::kFailedPrecondition;
    case ErrorCode::kApprovalTimedOut:
    case ErrorCode::kTimeLimit:
      return absl::StatusCode::kDeadlineExceeded;
    case ErrorCode::kGrantForged:
    case ErrorCode::kGrantExpired:
    case ErrorCode::kGrantReplayed:
    case ErrorCode::kGrantRevoked:
    case ErrorCode::kGrantWrongExecutor:
    case ErrorCode::kGrantWrongExecution:
    case ErrorCode::kGrantWrongCommand:
    case ErrorCode::kGrantWrongDirectory:
    case ErrorCode::kGrantWrongProfile:
    case ErrorCode::kGrantWrongRoute:
    case ErrorCode::kGrantWrongGuarantees:
    case ErrorCode::kGrantWrongTarget:
    case ErrorCode::kTargetChanged:
      return absl::StatusCode::kUnauthenticated;
    case ErrorCode::kUnavailable:
      return absl::StatusCode::kUnimplemented;
    case ErrorCode::kSetupFailed:
      return absl::StatusCode::kAborted;
    case ErrorCode::kNotFound:
      return absl::StatusCode::kNotFound;
    case ErrorCode::kBusy:
    case ErrorCode::kOutputLimit:
      return absl::StatusCode::kResourceExhausted;
    case ErrorCode::kCancelled:
      return absl::StatusCode::kCancelled;
    case ErrorCode::kLogFailed:
      return absl::StatusCode::kUnavailable;
    case ErrorCode::kInternal:
    case ErrorCode::kToolFailed:
      return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;
}

absl::Status MakeError(ErrorCode code, std::string_view message) {
  return WithError(Error{code, "", 0}, message);
}

absl::Status MakeSetupFailure(std::string_view step, int error_number, std::string_view message) {
  return WithError(Error{ErrorCode::kSetupFailed, std::string(step), error_number},
                   absl::StrFormat("%s: %s: %s", message, step, ErrnoText(error_number)));
}

absl::Status MakeErrnoError(int error_number, std::string_view message) {
  const ErrorCode code = error_number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInternal;
  return WithError(Error{code, "", error_number},
                   absl::StrFormat("%s: %s", message, ErrnoText(error_number)));
}

std::optional<Error> ErrorOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  if (!payload) return std::nullopt;
  return Decode(std::string(*payload));
}

bool Is(const absl::Status& status, ErrorCode code) {
  const std::optional<Error> error = ErrorOf(status);
  return error && error->code == code;
}

absl::Status Annotate(const absl::Status& status, std::string_view prefix) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrFormat("%s: %s", prefix, status.message()));
  status.ForEachPayload([&annotated](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

}  // namespace cordon
