// The files of one audit log: PATH, and before it PATH.1, PATH.2 and so on, the oldest first.

#ifndef CORDON_GATE_SRC_AUDIT_FILES_H_
#define CORDON_GATE_SRC_AUDIT_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::internal {

// The event of the first record of a file that continues another.
inline constexpr std::string_view kRotatedEvent = "log.rotated";

// The numbers of the rotated files that are there, in order.
[[nodiscard]] std::vector<std::uint64_t> RotatedNumbers(const std::string& path);

[[nodiscard]] std::string RotatedPath(const std::string& path, std::uint64_t number);

// All files that are there in the order of their records; `path` is the last, also when it is not.
[[nodiscard]] std::vector<std::string> AuditFiles(const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_AUDIT_FILES_H_
