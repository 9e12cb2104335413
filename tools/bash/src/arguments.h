// The arguments of one call of the Bash tool, decoded strictly. Pure: no path is looked up here.

#ifndef CORDON_TOOLS_BASH_ARGUMENTS_H_
#define CORDON_TOOLS_BASH_ARGUMENTS_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_policy.h"

namespace cordon::internal {

// Linux passes at most 32 pages in one argument (execve(2), MAX_ARG_STRLEN), the final NUL
// included.
inline constexpr std::size_t kMaxCommandBytes = 32 * 4096 - 1;
inline constexpr std::size_t kMaxArgumentsBytes = 1024 * 1024;
inline constexpr std::size_t kMaxDescriptionBytes = 2048;
inline constexpr std::size_t kMaxDeclaredAccess = 16;

struct DeclaredPath {
  CapabilityKind kind = CapabilityKind::kFilesystemRead;
  PathShape shape = PathShape::kExact;
  std::string path;  // As the model spelled it.

  friend bool operator==(const DeclaredPath&, const DeclaredPath&) = default;
};

using DeclaredAccess = std::variant<NetworkTarget, DeclaredPath>;

struct BashArguments {
  std::string command;
  std::optional<std::string> workdir;
  std::optional<std::chrono::milliseconds> timeout;
  std::string description;
  bool background = false;
  std::vector<DeclaredAccess> access;
};

// Returns kInvalidArguments, saying which member, what is wrong with it and what to write instead.
[[nodiscard]] absl::StatusOr<BashArguments> ParseBashArguments(
    std::string_view json_text, std::chrono::milliseconds max_timeout);

// The JSON Schema (draft 2020-12) of what `ParseBashArguments` accepts.
// `background` is among it only when `has_jobs`.
[[nodiscard]] std::string BashArgumentsSchema(std::chrono::milliseconds default_timeout,
                                              std::chrono::milliseconds max_timeout, bool has_jobs);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_ARGUMENTS_H_
