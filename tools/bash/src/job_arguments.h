// What the tools for background jobs have in common when they prepare a call.

#ifndef CORDON_TOOLS_BASH_JOB_ARGUMENTS_H_
#define CORDON_TOOLS_BASH_JOB_ARGUMENTS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "argument_members.h"
#include "cordon/sdk/request.h"
#include "cordon/sdk/tool.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {

// The object, its members checked; `handle` is a text where it is given.
[[nodiscard]] absl::StatusOr<nlohmann::json> ParseJobArguments(std::string_view text,
                                                               const MemberNameList& known,
                                                               bool needs_handle);

// Empty when there is none.
[[nodiscard]] std::string HandleOf(const nlohmann::json& object);

// A request that asks for nothing.
[[nodiscard]] Request HarmlessRequest(std::string_view tool, const PrepareContext& context,
                                      std::string why);

// For a call that is not of this tool, or that ran before.
[[nodiscard]] absl::Status ForeignCall(std::string_view tool);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_JOB_ARGUMENTS_H_
