// Profiles as JSON (RFC 8259, comments allowed). Strict: an unknown or repeated key, a wrong type
// or a bad value refuses the whole text, because a restriction that is silently dropped confines
// less than was asked. Pure; safe from any thread.

#ifndef CORDON_SDK_PROFILE_JSON_H_
#define CORDON_SDK_PROFILE_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sdk/profile.h"

namespace cordon {

// `source` names the text in errors, which read "SOURCE:LINE:COLUMN: what, and the nearest key".
// A relative `workspace_root`, or none, is left for the caller to fill in. Returns kInvalidProfile.
[[nodiscard]] absl::StatusOr<ProfileConfig> ParseProfileJson(std::string_view text,
                                                             std::string_view source);

// Reads and parses a file of at most 1 MiB. Returns kInvalidProfile, also when it cannot be read.
[[nodiscard]] absl::StatusOr<ProfileConfig> LoadProfileFile(const std::string& path);

// Canonical text with every key; `ParseProfileJson` gives `config` back. Ends with a newline.
[[nodiscard]] std::string ProfileToJson(const ProfileConfig& config);

// The JSON Schema (draft 2020-12) of what `ParseProfileJson` accepts.
[[nodiscard]] std::string ProfileJsonSchema();

}  // namespace cordon

#endif  // CORDON_SDK_PROFILE_JSON_H_
