// What a model is shown in place of, or around, a tool's own text.

#ifndef CORDON_SDK_SRC_TOOL_CALL_TEXT_H_
#define CORDON_SDK_SRC_TOOL_CALL_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "cordon/sdk/request.h"
#include "cordon/sdk/tool.h"

namespace cordon::internal {

// `text` as it is when it is valid UTF-8 without terminal control codes, as a tool's text must be.
// Else each byte or character that is not is replaced by an escape, and a last line says so.
[[nodiscard]] std::string PresentableText(std::string text);

// At most `max_bytes` of `text`: its head and its tail, cut between characters, and between them a
// mark that says how many bytes are missing. Without room for the mark, the head only.
[[nodiscard]] std::string BoundText(std::string text, std::size_t max_bytes);

// The stable name of the error, e.g. "denied_by_rule", also for a status that cordon did not make.
[[nodiscard]] std::string ErrorName(const absl::Status& status);

// What a call that did not run, or did not end well, looks like to the model: what was refused, by
// what, and how it could be allowed. `request` is null when the call was never prepared.
[[nodiscard]] ToolResult RenderError(const absl::Status& status, const Request* request);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_TOOL_CALL_TEXT_H_
