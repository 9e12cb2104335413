// The authority that an operation may need: a capability kind and, for files, where. Pure values;
// safe from any thread.

#ifndef CORDON_SDK_CAPABILITY_H_
#define CORDON_SDK_CAPABILITY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cordon {

enum class CapabilityKind : std::uint8_t {
  kCommandExecute,   // "command.execute", scope empty
  kNetwork,          // "network", scope empty
  kFilesystemRead,   // "filesystem.read"
  kFilesystemWrite,  // "filesystem.write"
};

[[nodiscard]] std::string_view CapabilityKindName(CapabilityKind kind);

// Returns kInvalidScope for an unknown name.
[[nodiscard]] absl::StatusOr<CapabilityKind> ParseCapabilityKind(std::string_view name);

// Where a file system capability applies. The text forms are `/abs/path`, `tree:/abs/root` and
// `host:*`; the empty text is `kNone`, the only scope of the other kinds.
struct Scope {
  enum class Form : std::uint8_t { kNone, kPath, kTree, kHost };

  Form form = Form::kNone;
  std::string path;  // Absolute and normal for kPath and kTree, else empty.

  friend bool operator==(const Scope&, const Scope&) = default;
};

// Returns kInvalidScope for a relative path, an empty one, one with `.` or `..` components, doubled
// or trailing slashes, a NUL byte, or an unknown form. Does not touch the file system.
[[nodiscard]] absl::StatusOr<Scope> ParseScope(std::string_view text);

[[nodiscard]] std::string ScopeText(const Scope& scope);

}  // namespace cordon

#endif  // CORDON_SDK_CAPABILITY_H_
