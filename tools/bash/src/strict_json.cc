#include "strict_json.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

using nlohmann::json;

// The library keeps the last of two equal keys without a word; this notices the second one.
class RepeatedKeys {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        open_objects_.emplace_back();
        break;
      case json::parse_event_t::object_end:
        open_objects_.pop_back();
        break;
      case json::parse_event_t::key:
        if (!open_objects_.back().insert(parsed.get_ref<const std::string&>()).second) {
          first_repeated_ = first_repeated_.value_or(parsed.get_ref<const std::string&>());
        }
        break;
      case json::parse_event_t::array_start:
      case json::parse_event_t::array_end:
      case json::parse_event_t::value:
        break;
    }
    return true;
  }

  [[nodiscard]] const std::optional<std::string>& first() const { return first_repeated_; }

 private:
  std::vector<std::set<std::string>> open_objects_;
  std::optional<std::string> first_repeated_;
};

// "parse error at line 1, column 5: ..." without the library's own prefix.
std::string WithoutLibraryPrefix(std::string message) {
  const std::size_t end = message.find("] ");
  if (message.starts_with("[json.exception") && end != std::string::npos) message.erase(0, end + 2);
  return message;
}

}  // namespace

absl::StatusOr<json> ParseStrictObject(std::string_view text) {
  RepeatedKeys repeated;
  json parsed;
  try {
    parsed = json::parse(text, std::ref(repeated));
  } catch (const json::exception& error) {
    return MakeError(ErrorCode::kInvalidArguments,
                     "the arguments are not JSON: " + WithoutLibraryPrefix(error.what()));
  }
  if (repeated.first().has_value()) {
    return MakeError(
        ErrorCode::kInvalidArguments,
        absl::StrFormat("member \"%s\" appears twice: keep one of them", *repeated.first()));
  }
  if (!parsed.is_object()) {
    return MakeError(
        ErrorCode::kInvalidArguments,
        absl::StrFormat("the arguments are a JSON %s, not an object", parsed.type_name()));
  }
  return parsed;
}

}  // namespace cordon::internal
