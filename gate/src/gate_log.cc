#include "gate_log.h"

#include <optional>
#include <utility>
#include <variant>

#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

std::string_view RememberName(Remember remember) {
  switch (remember) {
    case Remember::kOnce:
      return "once";
    case Remember::kSession:
      return "session";
    case Remember::kAlways:
      return "always";
  }
  return "unknown";
}

std::string RequirementText(const Requirement& requirement) {
  return std::string(CapabilityKindName(requirement.kind)) + " " + requirement.display;
}

}  // namespace

absl::Status GateLog::Append(LogRecord record) const {
  if (sink_ == nullptr) {
    if (!required_) return absl::OkStatus();
    return MakeError(ErrorCode::kLogFailed, "an audit log is required, and there is none");
  }
  absl::Status status = sink_->Append(record);
  if (status.ok() || !required_) return absl::OkStatus();
  if (Is(status, ErrorCode::kLogFailed)) return status;
  return MakeError(ErrorCode::kLogFailed, "the audit log cannot be written, and it is required");
}

absl::Status GateLog::Asked(const Request& request) const {
  LogRecord record{"request", request.execution_id, {}};
  record.fields.emplace_back("tool", request.tool);
  record.fields.emplace_back("call_id", request.call_id);
  record.fields.emplace_back("digest", DigestHex(RequestDigest(request)));
  if (request.command.has_value()) {
    record.fields.emplace_back("command", CommandDisplay(*request.command));
    record.fields.emplace_back("directory", EscapeForDisplay(request.command->working_directory));
  }
  if (const auto* none = std::get_if<NoAuthority>(&request.authority)) {
    record.fields.emplace_back("no_authority", none->reason);
  } else {
    int number = 0;
    for (const auto& requirement : std::get<std::vector<Requirement>>(request.authority)) {
      record.fields.emplace_back("requirement." + std::to_string(++number),
                                 RequirementText(requirement));
    }
  }
  return Append(std::move(record));
}

absl::Status GateLog::Admitted(const Request& request, std::string_view by,
                               const Assessment& assessment) const {
  LogRecord record{"decision", request.execution_id, {}};
  record.fields.emplace_back("outcome", "admitted");
  record.fields.emplace_back("by", std::string(by));
  int number = 0;
  for (const AssessedRequirement& assessed : assessment) {
    ++number;
    if (assessed.rule.verdict != RuleDecision::Verdict::kAllow) continue;
    record.fields.emplace_back("rule." + std::to_string(number), assessed.rule.rule);
  }
  return Append(std::move(record));
}

absl::Status GateLog::Approved(const Request& request, Remember remember) const {
  LogRecord record{"decision", request.execution_id, {}};
  record.fields.emplace_back("outcome", "approved");
  record.fields.emplace_back("by", "person");
  record.fields.emplace_back("remember", std::string(RememberName(remember)));
  return Append(std::move(record));
}

absl::Status GateLog::Issued(const Request& request, const Requirement& requirement,
                             std::chrono::milliseconds ttl) const {
  LogRecord record{"grant.issued", request.execution_id, {}};
  record.fields.emplace_back("class", std::string(GrantClassName(requirement.subject.grant_class)));
  record.fields.emplace_back("target", EscapeForDisplay(requirement.subject.target));
  record.fields.emplace_back("ttl_ms", std::to_string(ttl.count()));
  return Append(std::move(record));
}

absl::Status GateLog::Consumed(const Request& request, const GrantSubject& subject) const {
  return Append({"grant.consumed",
                 request.execution_id,
                 {{"class", std::string(GrantClassName(subject.grant_class))},
                  {"target", EscapeForDisplay(subject.target)}}});
}

absl::Status GateLog::Egress(const Request& request, bool allowed,
                             std::string_view decided_by) const {
  LogRecord record{"egress", request.execution_id, {}};
  for (const auto& requirement : std::get<std::vector<Requirement>>(request.authority)) {
    record.fields.emplace_back("target", requirement.display);
  }
  record.fields.emplace_back("outcome", allowed ? "allowed" : "denied");
  record.fields.emplace_back("by", std::string(decided_by));
  return Append(std::move(record));
}

absl::Status GateLog::Refused(const Request& request, absl::Status status) const {
  LogRecord record{"refused", request.execution_id, {}};
  const std::optional<Error> error = ErrorOf(status);
  record.fields.emplace_back("code",
                             std::string(error.has_value() ? ErrorCodeName(error->code) : "other"));
  const absl::string_view message = status.message();
  record.fields.emplace_back("message", std::string(message.data(), message.size()));
  absl::Status logged = Append(std::move(record));
  return logged.ok() ? status : logged;
}

}  // namespace cordon::internal
