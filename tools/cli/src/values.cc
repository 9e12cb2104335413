#include "values.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::cli {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

// A positive number followed by one of `units`; nothing when it is malformed or does not fit.
std::optional<std::uint64_t> ParseWithUnit(std::string_view text, const std::vector<Unit>& units) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number == 0) return std::nullopt;
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : units) {
    if (unit.suffix != suffix) continue;
    // Half of the range, so that a caller may still do sums in signed milliseconds.
    if (number > std::numeric_limits<std::int64_t>::max() / unit.factor) return std::nullopt;
    return number * unit.factor;
  }
  return std::nullopt;
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const auto value = ParseWithUnit(text, {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}});
  if (!value) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("'%s' is no duration, write it like 500ms, 30s or 5m", text));
  }
  return std::chrono::milliseconds(*value);
}

absl::StatusOr<std::uint64_t> ParseSize(std::string_view text) {
  const auto value =
      ParseWithUnit(text, {{"", 1}, {"k", 1U << 10}, {"m", 1U << 20}, {"g", 1U << 30}});
  if (!value) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("'%s' is no size, write it like 64k, 10m or 2g", text));
  }
  return *value;
}

absl::StatusOr<std::uint64_t> ParseCount(std::string_view text, std::uint64_t most) {
  const auto value = ParseWithUnit(text, {{"", 1}});
  if (!value || *value > most) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("'%s' is no number from 1 to %d", text, most));
  }
  return *value;
}

std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest;
  std::size_t least = word.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace cordon::cli
