// Which object a path names right now, so that a grant holds for that object only. Linux:
// openat2(2) without magic links, statx(2). Functions are safe from any thread.

#ifndef CORDON_SDK_PATH_IDENTITY_H_
#define CORDON_SDK_PATH_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon {

// The object at a path or, when the path does not exist, its deepest existing ancestor and the rest
// that must still be missing. Every field is part of a grant's claims.
struct PathIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t type = 0;  // S_IFMT bits of the object.
  // When the object was made, in nanoseconds since 1970; 0 where the file system does not say. An
  // inode number alone is given to the next file as soon as this one is removed (ext4 does so).
  std::int64_t birth_ns = 0;
  std::string missing_suffix;  // "" when the path exists, else e.g. "a/b".

  friend bool operator==(const PathIdentity&, const PathIdentity&) = default;
};

struct AcquiredPath {
  UniqueFd fd;  // O_PATH descriptor of the object the identity describes.
  PathIdentity identity;
};

// Opens `path`, absolute and normal, without following any symbolic link. Returns kPathEscape when
// one is met (resolve the path first), kInvalidScope for a path that is not absolute and normal.
[[nodiscard]] absl::StatusOr<AcquiredPath> AcquirePath(std::string_view path);

// `path` with every symbolic link resolved, also where a suffix does not exist yet: then the
// existing part is resolved and the rest appended. A link whose target is missing gives the target.
// Returns kInvalidScope for a relative path and for links that lead in circles.
[[nodiscard]] absl::StatusOr<std::string> ResolveSymlinks(std::string_view path);

}  // namespace cordon

#endif  // CORDON_SDK_PATH_IDENTITY_H_
