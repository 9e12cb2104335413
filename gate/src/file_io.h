// Whole files: reading a bounded one, replacing one atomically, writing without short writes.

#ifndef CORDON_GATE_SRC_FILE_IO_H_
#define CORDON_GATE_SRC_FILE_IO_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cordon::internal {

// From the current position to the end. Returns kInternal beyond `max_bytes`.
[[nodiscard]] absl::StatusOr<std::string> ReadAll(int fd, std::size_t max_bytes);

// Everything, or an error with errno.
[[nodiscard]] absl::Status WriteAll(int fd, std::string_view bytes);

// Writes a new file of mode 0600 beside `path`, syncs it and renames it over `path`; on failure
// `path` is as it was.
[[nodiscard]] absl::Status ReplaceFile(const std::string& path, std::string_view bytes);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_FILE_IO_H_
