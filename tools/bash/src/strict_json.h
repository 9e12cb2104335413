// One JSON object as a model sends it, read without mercy: what a lenient reader would repair or
// drop, a person would never have been shown.

#ifndef CORDON_TOOLS_BASH_STRICT_JSON_H_
#define CORDON_TOOLS_BASH_STRICT_JSON_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {

// Returns kInvalidArguments for malformed JSON or UTF-8 (with the place), a member that appears
// twice in one object, at any depth, and for a value that is no object.
[[nodiscard]] absl::StatusOr<nlohmann::json> ParseStrictObject(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_STRICT_JSON_H_
