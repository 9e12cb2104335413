// Option values with a unit. Pure.

#ifndef CORDON_TOOLS_CLI_SRC_VALUES_H_
#define CORDON_TOOLS_CLI_SRC_VALUES_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cordon::cli {

// `500ms`, `30s`, `5m`, `2h`; positive. Returns kInvalidOption for anything else.
[[nodiscard]] absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text);

// Bytes: `4096`, `64k`, `10m`, `2g` (powers of 1024); positive. Returns kInvalidOption otherwise.
[[nodiscard]] absl::StatusOr<std::uint64_t> ParseSize(std::string_view text);

// A whole number from 1 to `most`. Returns kInvalidOption otherwise.
[[nodiscard]] absl::StatusOr<std::uint64_t> ParseCount(std::string_view text, std::uint64_t most);

// The candidate that differs in the fewest letters, or nothing when none is near.
[[nodiscard]] std::string NearestWord(std::string_view word,
                                      const std::vector<std::string>& candidates);

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_VALUES_H_
