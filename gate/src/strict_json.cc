#include "strict_json.h"

#include <cstddef>
#include <set>
#include <vector>

#include "cordon/sdk/command.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxDepth = 16;

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

// Builds the value and remembers the first fault.
class StrictHandler : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return Fail("binary value"); }
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }
  bool key(string_t& key) override {
    if (open_.back()->contains(key)) {
      return Fail("the key \"" + EscapeForDisplay(key) + "\" is there twice");
    }
    key_ = std::move(key);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return Fail("malformed JSON at byte " + std::to_string(position));
  }

  [[nodiscard]] const std::string& fault() const { return fault_; }
  [[nodiscard]] Json Take() { return std::move(root_); }

 private:
  bool Fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
    return false;
  }
  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& member = parent[key_];
    member = std::move(value);
    return &member;
  }
  bool Put(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json container) {
    if (open_.size() >= kMaxDepth) return Fail("it is nested too deeply");
    open_.push_back(Place(std::move(container)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  // A parent grows only while it is the last one here, so the pointers stay good.
  std::vector<Json*> open_;
  std::string key_;
  std::string fault_;
};

}  // namespace

absl::StatusOr<Json> ParseStrictJson(std::string_view text) {
  StrictHandler handler;
  try {
    if (Json::sax_parse(text.begin(), text.end(), &handler)) return handler.Take();
  } catch (const std::exception&) {
    return Invalid("malformed JSON");
  }
  return Invalid(handler.fault().empty() ? "malformed JSON" : handler.fault());
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

MemberReader::MemberReader(const Json& object, std::string_view what)
    : object_(object), what_(what) {
  if (!object.is_object()) status_ = Invalid(what_ + " is not an object");
}

const Json* MemberReader::Find(std::string_view key) {
  allowed_ += (allowed_.empty() ? "" : ", ") + std::string(key);
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(std::string(key));
  if (it == object_.end()) return nullptr;
  ++taken_;
  return &*it;
}

void MemberReader::Fail(std::string_view key, std::string_view problem) {
  if (status_.ok()) {
    status_ = Invalid(what_ + ": \"" + std::string(key) + "\" " + std::string(problem));
  }
}

std::string MemberReader::String(std::string_view key) {
  std::optional<std::string> value = OptionalString(key);
  if (!value.has_value()) Fail(key, "is missing");
  return value.value_or("");
}

std::optional<std::string> MemberReader::OptionalString(std::string_view key) {
  const Json* member = Find(key);
  if (member == nullptr) return std::nullopt;
  if (!member->is_string()) {
    Fail(key, "is not a string");
    return std::nullopt;
  }
  return member->get<std::string>();
}

std::uint64_t MemberReader::Number(std::string_view key) {
  const std::optional<std::uint64_t> value = OptionalNumber(key);
  if (!value.has_value()) Fail(key, "is missing");
  return value.value_or(0);
}

std::optional<std::uint64_t> MemberReader::OptionalNumber(std::string_view key) {
  const Json* member = Find(key);
  if (member == nullptr) return std::nullopt;
  if (member->is_number_unsigned()) return member->get<std::uint64_t>();
  Fail(key, "is not a whole number");
  return std::nullopt;
}

std::optional<bool> MemberReader::OptionalBool(std::string_view key) {
  const Json* member = Find(key);
  if (member == nullptr) return std::nullopt;
  if (member->is_boolean()) return member->get<bool>();
  Fail(key, "is neither true nor false");
  return std::nullopt;
}

const Json& MemberReader::Array(std::string_view key) {
  static const Json kEmpty = Json::array();
  const Json* member = OptionalArray(key);
  if (member == nullptr) Fail(key, "is missing");
  return member == nullptr ? kEmpty : *member;
}

const Json* MemberReader::OptionalArray(std::string_view key) {
  const Json* member = Find(key);
  if (member == nullptr || member->is_array()) return member;
  Fail(key, "is not an array");
  return nullptr;
}

const Json& MemberReader::Object(std::string_view key) {
  static const Json kEmpty = Json::object();
  const Json* member = Find(key);
  if (member != nullptr && member->is_object()) return *member;
  Fail(key, member == nullptr ? "is missing" : "is not an object");
  return kEmpty;
}

absl::Status MemberReader::Finish() {
  if (!status_.ok() || taken_ == object_.size()) return status_;
  for (const auto& member : object_.items()) {
    const std::string listed = ", " + allowed_ + ",";
    if (listed.find(", " + member.key() + ",") == std::string::npos) {
      return Invalid(what_ + " has the unknown key \"" + EscapeForDisplay(member.key()) +
                     "\"; known: " + allowed_);
    }
  }
  return status_;
}

}  // namespace cordon::internal
