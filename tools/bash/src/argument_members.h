// What every tool of this module checks about the members of its arguments, with one wording. Pure.

#ifndef CORDON_TOOLS_BASH_ARGUMENT_MEMBERS_H_
#define CORDON_TOOLS_BASH_ARGUMENT_MEMBERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {

using MemberNameList = std::vector<std::string_view>;

template <typename... Args>
absl::Status Refuse(const absl::FormatSpec<Args...>& format, const Args&... args) {
  return MakeError(ErrorCode::kInvalidArguments, absl::StrFormat(format, args...));
}

// The known name that `word` most likely meant: a beginning of it, else the fewest edits away.
[[nodiscard]] std::string_view NearestName(std::string_view word, const MemberNameList& known);

// Returns kInvalidArguments for a member that is not among `known`, naming the nearest. `where` is
// put before the message.
[[nodiscard]] absl::Status CheckMemberNames(const nlohmann::json& object,
                                            const MemberNameList& known, std::string_view where);

// A member that must be a text without NUL, which no command line or path can hold.
[[nodiscard]] absl::StatusOr<std::string> TextMember(const nlohmann::json& object,
                                                     std::string_view name, std::string_view where);

// `fallback` where the member is missing.
[[nodiscard]] absl::StatusOr<bool> FlagMember(const nlohmann::json& object, std::string_view name,
                                              bool fallback);
[[nodiscard]] absl::StatusOr<std::uint64_t> NumberMember(const nlohmann::json& object,
                                                         std::string_view name,
                                                         std::uint64_t fallback,
                                                         std::uint64_t most);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_ARGUMENT_MEMBERS_H_
