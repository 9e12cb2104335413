#include "streamed_turn.h"

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon::agent {

void TurnInPieces::AddText(const std::string& text) {
  turn_.text += text;
  lines_.Add(text);
}

void TurnInPieces::Fail(std::string error) {
  error_ = error.empty() ? "an error without words" : std::move(error);
}

absl::StatusOr<Turn> TurnInPieces::Finish() && {
  lines_.Finish();
  if (failed()) {
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrFormat("the model's server says: %s", EscapeForDisplay(error_)));
  }
  if (!finished_) return MakeError(ErrorCode::kUnavailable, "the model's answer broke off");
  for (auto& [index, call] : calls_) {
    if (call.id.empty()) call.id = "call-" + RandomId().substr(0, 12);
    if (call.arguments_json.empty()) call.arguments_json = "{}";
    turn_.calls.push_back(std::move(call));
  }
  return std::move(turn_);
}

}  // namespace cordon::agent
