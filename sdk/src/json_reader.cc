#include "json_reader.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"

namespace cordon::internal {
namespace {

// Levenshtein distance, over bytes.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

const JsonMember* MemberOf(const JsonValue& object, std::string_view key) {
  const auto member =
      std::find_if(object.members.begin(), object.members.end(),
                   [key](const JsonMember& candidate) { return candidate.key == key; });
  return member == object.members.end() ? nullptr : &*member;
}

std::string Quoted(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", absl::StrFormat("\"%s\"", name));
  }
  return text;
}

}  // namespace

void JsonReader::Fail(std::size_t offset, std::string_view what) {
  if (status_.ok()) status_ = JsonErrorAt(source_, offset, what);
}

const JsonMember* JsonReader::Find(std::string_view key) {
  known_.push_back(key);
  return status_.ok() ? MemberOf(object_, key) : nullptr;
}

const JsonMember* JsonReader::Find(std::string_view key, JsonValue::Kind kind) {
  const JsonMember* member = Find(key);
  if (member == nullptr || member->value.kind == kind) return member;
  Fail(member->offset, absl::StrFormat("\"%s\" must be %s, not %s", key, JsonKindName(kind),
                                       JsonKindName(member->value.kind)));
  return nullptr;
}

void JsonReader::ReadString(std::string_view key, std::string& into) {
  if (const JsonMember* member = Find(key, JsonValue::Kind::kString)) into = member->value.string;
}

void JsonReader::ReadBoolean(std::string_view key, bool& into) {
  if (const JsonMember* member = Find(key, JsonValue::Kind::kBoolean)) into = member->value.boolean;
}

void JsonReader::ReadCount(std::string_view key, std::optional<std::uint64_t>& into) {
  const JsonMember* member = Find(key);
  if (member == nullptr || member->value.kind == JsonValue::Kind::kNull) return;
  if (member->value.kind != JsonValue::Kind::kUnsigned || member->value.number == 0) {
    return Fail(member->offset,
                absl::StrFormat("\"%s\" must be a whole number above 0, or null", key));
  }
  into = member->value.number;
}

std::optional<std::size_t> JsonReader::ReadOneOf(std::string_view key,
                                                 const std::vector<std::string_view>& names) {
  const JsonMember* member = Find(key, JsonValue::Kind::kString);
  if (member == nullptr) return std::nullopt;
  const auto name = std::find(names.begin(), names.end(), member->value.string);
  if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
  Fail(member->offset, absl::StrFormat("\"%s\" must be one of %s, not \"%s\"", key, Quoted(names),
                                       EscapeForDisplay(member->value.string)));
  return std::nullopt;
}

void JsonReader::ReadList(std::string_view key, JsonValue::Kind kind,
                          const std::function<absl::Status(const JsonValue&)>& read) {
  const JsonMember* member = Find(key, JsonValue::Kind::kArray);
  if (member == nullptr) return;
  for (const JsonValue& item : member->value.items) {
    if (item.kind != kind) {
      return Fail(item.offset, absl::StrFormat("\"%s\" must hold only %s, not %s", key,
                                               JsonKindName(kind), JsonKindName(item.kind)));
    }
    const absl::Status status = read(item);
    if (status.ok()) continue;
    if (item.kind == JsonValue::Kind::kObject) {
      status_ = status;
      return;
    }
    return Fail(item.offset, absl::StrFormat("in \"%s\": %s", key, status.message()));
  }
}

void JsonReader::ReadObject(std::string_view key,
                            const std::function<absl::Status(const JsonValue&)>& read) {
  const JsonMember* member = Find(key, JsonValue::Kind::kObject);
  if (member != nullptr) status_ = read(member->value);
}

void JsonReader::Require(std::string_view key) {
  if (MemberOf(object_, key) == nullptr) {
    Fail(object_.offset, absl::StrFormat("\"%s\" is missing", key));
  }
}

absl::Status JsonReader::Finish() const {
  for (const JsonMember& member : object_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    const auto nearest = std::min_element(
        known_.begin(), known_.end(), [&member](std::string_view a, std::string_view b) {
          return EditDistance(a, member.key) < EditDistance(b, member.key);
        });
    return JsonErrorAt(source_, member.offset,
                       absl::StrFormat("unknown key \"%s\", the nearest one is \"%s\"",
                                       EscapeForDisplay(member.key), *nearest));
  }
  return status_;
}

}  // namespace cordon::internal
