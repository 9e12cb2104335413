// JSON as a tree that remembers where each value stands, so that errors can say so. Strict: a
// repeated key, invalid UTF-8, a NUL byte and deep nesting are refused; comments are allowed.

#ifndef CORDON_SDK_SRC_JSON_DOCUMENT_H_
#define CORDON_SDK_SRC_JSON_DOCUMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cordon::internal {

// Where an error is, and what it calls the text.
struct JsonSource {
  std::string_view text;
  std::string_view name;
};

struct JsonMember;

struct JsonValue {
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kUnsigned,
    kOtherNumber,
    kString,
    kArray,
    kObject
  };

  Kind kind = Kind::kNull;
  std::size_t offset = 0;  // Of the first byte, in bytes.
  bool boolean = false;
  std::uint64_t number = 0;  // kUnsigned only; negative and fractional numbers are kOtherNumber.
  std::string string;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;  // In the order of the text; keys differ.
};

struct JsonMember {
  std::string key;
  std::size_t offset = 0;  // Of the key.
  JsonValue value;
};

// "an object", "a string", ...
[[nodiscard]] std::string_view JsonKindName(JsonValue::Kind kind);

// kInvalidProfile with "NAME:LINE:COLUMN: what"; both count from 1, columns in bytes.
[[nodiscard]] absl::Status JsonErrorAt(const JsonSource& source, std::size_t offset,
                                       std::string_view what);

[[nodiscard]] absl::StatusOr<JsonValue> ParseJson(const JsonSource& source);

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_JSON_DOCUMENT_H_
