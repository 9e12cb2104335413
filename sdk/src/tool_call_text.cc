#include "tool_call_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

using Json = nlohmann::ordered_json;

// C0 and C1 controls and DEL, but for the two that only move to the next line or column.
bool IsTerminalControl(char32_t value) {
  if (value == '\n' || value == '\t') return false;
  return value < 0x20 || (value >= 0x7f && value <= 0x9f);
}

bool IsPresentable(const CodePoint& point) {
  return point.valid && !IsTerminalControl(point.value);
}

bool IsPresentable(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    if (!IsPresentable(point)) return false;
    text.remove_prefix(point.size);
  }
  return true;
}

std::string OmittedMark(std::size_t bytes) {
  return absl::StrFormat("\n[... %d bytes omitted ...]\n", bytes);
}

enum class Verdict { kRefused, kFailed, kCancelled };

// How an error ended the call, and what to do about it.
struct Advice {
  Verdict verdict;
  std::string_view next;
};

Advice AdviceFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArguments:
      return {Verdict::kRefused, "correct the arguments and call the tool again"};
    case ErrorCode::kInvalidProfile:
    case ErrorCode::kInvalidCommand:
    case ErrorCode::kInvalidTarget:
    case ErrorCode::kInvalidScope:
    case ErrorCode::kInvalidOption:
      return {Verdict::kRefused, "correct what the message names"};
    case ErrorCode::kInvalidRules:
      return {Verdict::kRefused, "only the user can repair or remove the rule file"};
    case ErrorCode::kInvalidRequest:
      return {Verdict::kRefused, "the tool contradicts itself; its author has to correct it"};
    case ErrorCode::kPolicyDenied:
      return {Verdict::kRefused,
              "the profile denies it whoever approves; only the user can change the profile"};
    case ErrorCode::kDeniedByRule:
      return {Verdict::kRefused, "a stored rule denies it; only the user can remove the rule"};
    case ErrorCode::kRefusedByPerson:
      return {Verdict::kRefused,
              "a person said no; do not try it again in another spelling, ask what is wanted"};
    case ErrorCode::kNoApprover:
      return {Verdict::kRefused,
              "it needs an approval and nobody can be asked here; the user can allow it in the "
              "profile or by a stored rule"};
    case ErrorCode::kApprovalTimedOut:
      return {Verdict::kRefused,
              "it needs an approval and nobody answered in time; that was not a refusal, it can be "
              "asked again"};
    case ErrorCode::kApprovalStale:
      return {Verdict::kRefused, "what was approved changed meanwhile; it can be asked again"};
    case ErrorCode::kGrantRequired:
      return {Verdict::kRefused, "it needs an approval that this call did not ask for"};
    case ErrorCode::kPathEscape:
      return {Verdict::kRefused, "name the path that the link leads to"};
    case ErrorCode::kTargetChanged:
      return {Verdict::kRefused,
              "the path is another object now than the one that was approved; look at it again"};
    case ErrorCode::kGrantMalformed:
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
    case ErrorCode::kGrantTtl:
      return {Verdict::kRefused, "the approval does not fit this operation; it can be asked again"};
    case ErrorCode::kCancelled:
      return {Verdict::kCancelled, "it was not finished"};
    case ErrorCode::kUnavailable:
      return {Verdict::kFailed, "the host lacks a layer of confinement; only the user can add it"};
    case ErrorCode::kLogFailed:
      return {Verdict::kFailed, "nothing runs without its log; the user has to make it writable"};
    case ErrorCode::kBusy:
      return {Verdict::kFailed, "it can be tried again when something else has ended"};
    case ErrorCode::kInternal:
    case ErrorCode::kSetupFailed:
    case ErrorCode::kClosed:
    case ErrorCode::kNotFound:
    case ErrorCode::kTimeLimit:
    case ErrorCode::kOutputLimit:
    case ErrorCode::kToolFailed:
      return {Verdict::kFailed, ""};
  }
  return {Verdict::kFailed, ""};
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRefused:
      return "refused";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kCancelled:
      return "cancelled";
  }
  return "failed";
}

// A status of somebody else is a fault, unless it says that the caller gave up.
Advice AdviceFor(const absl::Status& status) {
  if (const std::optional<Error> error = ErrorOf(status)) return AdviceFor(error->code);
  return AdviceFor(absl::IsCancelled(status) ? ErrorCode::kCancelled : ErrorCode::kToolFailed);
}

const std::vector<Requirement>* RequirementsOf(const Request* request) {
  return request == nullptr ? nullptr : std::get_if<std::vector<Requirement>>(&request->authority);
}

Json RequirementsJson(const std::vector<Requirement>& requirements) {
  Json list = Json::array();
  for (const Requirement& requirement : requirements) {
    list.push_back({{"kind", std::string(CapabilityKindName(requirement.kind))},
                    {"target", requirement.display}});
  }
  return list;
}

std::string ErrorJson(const absl::Status& status, std::string_view message, const Advice& advice,
                      const std::vector<Requirement>* requirements) {
  Json error = {{"verdict", std::string(VerdictName(advice.verdict))},
                {"code", ErrorName(status)},
                {"message", std::string(message)}};
  if (!advice.next.empty()) error["next"] = std::string(advice.next);
  if (requirements != nullptr) error["requested"] = RequirementsJson(*requirements);
  // Without `replace`, bytes that are not UTF-8 would throw.
  return Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string PresentableText(std::string text) {
  if (IsPresentable(text)) return text;
  std::string shown;
  shown.reserve(text.size() + 64);
  std::string_view rest = text;
  while (!rest.empty()) {
    const CodePoint point = FirstCodePoint(rest);
    const std::string_view bytes = rest.substr(0, point.size);
    shown += IsPresentable(point) ? std::string(bytes) : EscapeForDisplay(bytes);
    rest.remove_prefix(point.size);
  }
  return shown + "\n[control codes and bytes that are not UTF-8 are shown as escapes]\n";
}

std::string BoundText(std::string text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  // The longest that the mark can become.
  const std::size_t mark_bytes = OmittedMark(text.size()).size();
  if (max_bytes < mark_bytes) return std::string(Utf8Prefix(text, max_bytes));
  const std::size_t kept_bytes = max_bytes - mark_bytes;
  const std::string_view head = Utf8Prefix(text, kept_bytes / 2);
  const std::string_view tail = Utf8Suffix(text, kept_bytes - head.size());
  std::string bounded(head);
  bounded += OmittedMark(text.size() - head.size() - tail.size());
  return bounded.append(tail);
}

std::string ErrorName(const absl::Status& status) {
  if (const std::optional<Error> error = ErrorOf(status)) {
    return std::string(ErrorCodeName(error->code));
  }
  return absl::AsciiStrToLower(absl::StatusCodeToString(status.code()));
}

ToolResult RenderError(const absl::Status& status, const Request* request) {
  const Advice advice = AdviceFor(status);
  const std::string message = PresentableText(std::string(status.message()));
  const std::vector<Requirement>* requirements = RequirementsOf(request);
  std::string text =
      absl::StrFormat("%s (%s): %s\n", VerdictName(advice.verdict), ErrorName(status), message);
  if (requirements != nullptr) {
    for (const Requirement& requirement : *requirements) {
      text += absl::StrFormat("requested: %s %s\n", CapabilityKindName(requirement.kind),
                              requirement.display);
    }
  }
  if (!advice.next.empty()) text += absl::StrFormat("next: %s\n", advice.next);
  return {std::move(text), ErrorJson(status, message, advice, requirements), true};
}

}  // namespace cordon::internal
