// JSON without surprises: a repeated key is an error, and so is whatever the caller does not ask
// for. Pure.

#ifndef CORDON_GATE_SRC_STRICT_JSON_H_
#define CORDON_GATE_SRC_STRICT_JSON_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {

using Json = nlohmann::ordered_json;

// Returns absl kInvalidArgument, saying where, for malformed text, repeated keys, invalid UTF-8,
// more than one value, or a depth beyond 16.
[[nodiscard]] absl::StatusOr<Json> ParseStrictJson(std::string_view text);

// Compact, invalid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string DumpJson(const Json& json, int indent = -1);

// Members of an object, each taken at most once. After a fault `status` keeps the first.
class MemberReader {
 public:
  // `what` names the object in errors.
  MemberReader(const Json& object, std::string_view what);

  [[nodiscard]] std::string String(std::string_view key);  // Mandatory.
  [[nodiscard]] std::optional<std::string> OptionalString(std::string_view key);
  [[nodiscard]] std::uint64_t Number(std::string_view key);  // Mandatory.
  [[nodiscard]] std::optional<std::uint64_t> OptionalNumber(std::string_view key);
  [[nodiscard]] const Json& Array(std::string_view key);  // Mandatory.
  [[nodiscard]] std::optional<bool> OptionalBool(std::string_view key);
  // Null when it is not there.
  [[nodiscard]] const Json* OptionalArray(std::string_view key);
  [[nodiscard]] const Json& Object(std::string_view key);  // Mandatory.

  // OK when there was no fault and no member is left that was not asked for.
  [[nodiscard]] absl::Status Finish();

 private:
  const Json* Find(std::string_view key);
  void Fail(std::string_view key, std::string_view problem);

  const Json& object_;
  std::string what_;
  std::size_t taken_ = 0;
  std::string allowed_;  // The keys asked for, for the error about an unknown one.
  absl::Status status_;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_STRICT_JSON_H_
