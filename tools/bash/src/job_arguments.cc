#include "job_arguments.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "arguments.h"
#include "cordon/sdk/status.h"
#include "strict_json.h"

namespace cordon::internal {

absl::StatusOr<nlohmann::json> ParseJobArguments(std::string_view text, const MemberNameList& known,
                                                 bool needs_handle) {
  if (text.size() > kMaxArgumentsBytes) {
    return Refuse("the arguments have %d bytes, at most %d are possible", text.size(),
                  kMaxArgumentsBytes);
  }
  absl::StatusOr<nlohmann::json> object = ParseStrictObject(text);
  if (!object.ok()) return object.status();
  if (absl::Status names = CheckMemberNames(*object, known, ""); !names.ok()) return names;
  if (needs_handle || object->contains("handle")) {
    const absl::StatusOr<std::string> handle = TextMember(*object, "handle", "");
    if (!handle.ok()) return handle.status();
  }
  return object;
}

std::string HandleOf(const nlohmann::json& object) { return object.value("handle", ""); }

Request HarmlessRequest(std::string_view tool, const PrepareContext& context, std::string why) {
  Request request;
  request.tool = std::string(tool);
  request.call_id = context.call_id;
  request.execution_id = context.execution_id;
  request.authority = NoAuthority(std::move(why));
  return request;
}

absl::Status ForeignCall(std::string_view tool) {
  return MakeError(ErrorCode::kInvalidRequest,
                   absl::StrFormat("%s: another tool prepared this call, or it ran before", tool));
}

}  // namespace cordon::internal
