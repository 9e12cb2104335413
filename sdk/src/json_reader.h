// Reading the members of a JSON object into fields, where every key has to be known.

#ifndef CORDON_SDK_SRC_JSON_READER_H_
#define CORDON_SDK_SRC_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "json_document.h"

namespace cordon::internal {

// Each `Read...` names a key that may be there and leaves its field alone when it is not. The first
// fault is kept, what follows it does nothing, and `Finish` returns it. The object must outlive
// the reader. Used by one thread.
class JsonReader {
 public:
  JsonReader(const JsonSource& source, const JsonValue& object)
      : source_(source), object_(object) {}

  void ReadString(std::string_view key, std::string& into);
  void ReadBoolean(std::string_view key, bool& into);
  // A number above 0; null stands for none.
  void ReadCount(std::string_view key, std::optional<std::uint64_t>& into);

  template <typename T>
  void ReadEnum(std::string_view key,
                const std::vector<std::pair<std::string_view, T>>& enumerators, T& into) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : enumerators) names.push_back(name);
    if (const std::optional<std::size_t> at = ReadOneOf(key, names)) into = enumerators[*at].second;
  }

  // Calls `read` with each item of a list whose items are all of `kind`; it returns what is wrong
  // with the item. An error that has a place already (from a `JsonReader` of its own) is kept.
  void ReadList(std::string_view key, JsonValue::Kind kind,
                const std::function<absl::Status(const JsonValue&)>& read);

  // Calls `read` with an object.
  void ReadObject(std::string_view key, const std::function<absl::Status(const JsonValue&)>& read);

  // Says that the object lacks `key` when it does.
  void Require(std::string_view key);

  // The first fault. An unknown key goes before all others, since it may be what explains them.
  [[nodiscard]] absl::Status Finish() const;

 private:
  // The member, when it is there and nothing has failed.
  const JsonMember* Find(std::string_view key);
  // The same; an error unless it is of `kind`.
  const JsonMember* Find(std::string_view key, JsonValue::Kind kind);
  std::optional<std::size_t> ReadOneOf(std::string_view key,
                                       const std::vector<std::string_view>& names);
  void Fail(std::size_t offset, std::string_view what);

  JsonSource source_;
  const JsonValue& object_;
  std::vector<std::string_view> known_;
  absl::Status status_;
};

}  // namespace cordon::internal

#endif  // CORDON_SDK_SRC_JSON_READER_H_
