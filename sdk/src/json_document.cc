#include "json_document.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 8;

struct LineColumn {
  std::size_t line = 1;
  std::size_t column = 1;
};

LineColumn Locate(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t newline = before.rfind('\n');
  return {.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          .column = 1 + before.size() - (newline == std::string_view::npos ? 0 : newline + 1)};
}

// Walks over the tokens of a text that nlohmann's parser reads at the same time and has found to be
// well-formed so far: its events come in the order of the tokens, but say nothing about their
// places.
class TokenOffsets {
 public:
  explicit TokenOffsets(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  // The offset of the next token that is an event: a key, a value, the start or end of a container.
  std::size_t Next() {
    SkipFiller();
    const std::size_t start = std::min(at_, text_.size());
    if (start == text_.size()) return start;
    if (text_[start] == '"') {
      SkipString();
    } else if (IsBracket(text_[start])) {
      ++at_;
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,:[]{}/\"", start), text_.size());
    }
    return start;
  }

 private:
  static bool IsBracket(char c) { return c == '[' || c == ']' || c == '{' || c == '}'; }

  void SkipFiller() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n,:", at_), text_.size());
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Builds the tree from the parser's events; each says whether to go on.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(const JsonSource& source) : source_(source), offsets_(source.text) {}

  bool null() override { return Add(At(JsonValue::Kind::kNull)); }
  bool boolean(bool value) override {
    JsonValue node = At(JsonValue::Kind::kBoolean);
    node.boolean = value;
    return Add(std::move(node));
  }
  bool number_integer(number_integer_t value) override {
    // The parser calls this for negative numbers only.
    (void)value;
    return Add(At(JsonValue::Kind::kOtherNumber));
  }
  bool number_unsigned(number_unsigned_t value) override {
    JsonValue node = At(JsonValue::Kind::kUnsigned);
    node.number = value;
    return Add(std::move(node));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    (void)value;
    (void)text;
    return Add(At(JsonValue::Kind::kOtherNumber));
  }
  bool string(string_t& value) override {
    JsonValue node = At(JsonValue::Kind::kString);
    if (value.find('\0') != std::string::npos) {
      return Fail(node.offset, "a string holds a NUL character");
    }
    node.string = std::move(value);
    return Add(std::move(node));
  }
  bool binary(binary_t& value) override {
    (void)value;
    return Fail(0, "binary values are no JSON");
  }
  bool start_object(std::size_t elements) override {
    (void)elements;
    return Open(JsonValue::Kind::kObject);
  }
  bool start_array(std::size_t elements) override {
    (void)elements;
    return Open(JsonValue::Kind::kArray);
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) override;

  [[nodiscard]] absl::StatusOr<JsonValue> Finish() && {
    if (!status_.ok()) return status_;
    if (!root_.has_value()) return JsonErrorAt(source_, 0, "the text is no JSON value");
    return *std::move(root_);
  }

 private:
  // A container that is not closed yet; `key` is what its next value belongs to.
  struct OpenContainer {
    JsonValue value;
    JsonMember next;
  };

  JsonValue At(JsonValue::Kind kind) {
    JsonValue node;
    node.kind = kind;
    node.offset = offsets_.Next();
    return node;
  }
  bool Fail(std::size_t offset, std::string_view what) {
    status_ = JsonErrorAt(source_, offset, what);
    return false;
  }
  bool Add(JsonValue node);
  bool Open(JsonValue::Kind kind);
  bool Close();

  JsonSource source_;
  TokenOffsets offsets_;
  std::vector<OpenContainer> open_;
  std::optional<JsonValue> root_;
  absl::Status status_;
};

bool TreeBuilder::Add(JsonValue node) {
  if (open_.empty()) {
    root_ = std::move(node);
    return true;
  }
  OpenContainer& container = open_.back();
  if (container.value.kind == JsonValue::Kind::kArray) {
    container.value.items.push_back(std::move(node));
  } else {
    container.next.value = std::move(node);
    container.value.members.push_back(std::move(container.next));
    container.next = {};
  }
  return true;
}

bool TreeBuilder::Open(JsonValue::Kind kind) {
  JsonValue node = At(kind);
  if (open_.size() == kMaxDepth) return Fail(node.offset, "the values are nested too deeply");
  open_.push_back({.value = std::move(node), .next = {}});
  return true;
}

bool TreeBuilder::Close() {
  (void)offsets_.Next();
  JsonValue node = std::move(open_.back().value);
  open_.pop_back();
  return Add(std::move(node));
}

bool TreeBuilder::key(string_t& value) {
  OpenContainer& object = open_.back();
  object.next.offset = offsets_.Next();
  for (const JsonMember& member : object.value.members) {
    if (member.key != value) continue;
    return Fail(object.next.offset,
                absl::StrFormat("\"%s\" is given twice, first in line %d", EscapeForDisplay(value),
                                Locate(source_.text, member.offset).line));
  }
  object.next.key = std::move(value);
  return true;
}

bool TreeBuilder::parse_error(std::size_t position, const std::string& last_token,
                              const nlohmann::detail::exception& error) {
  (void)last_token;
  // "[json.exception.parse_error.101] parse error at line 1, column 2: what"; the place is ours.
  const std::string_view message = error.what();
  const std::size_t column = message.find("column ");
  const std::size_t colon = message.find(": ", column == std::string_view::npos ? 0 : column);
  return Fail(
      position == 0 ? 0 : position - 1,
      EscapeForDisplay(colon == std::string_view::npos ? message : message.substr(colon + 2)));
}

absl::Status CheckBytes(const JsonSource& source) {
  for (std::size_t at = 0; at < source.text.size();) {
    const CodePoint point = FirstCodePoint(source.text.substr(at));
    if (!point.valid) return JsonErrorAt(source, at, "a byte that is not valid UTF-8");
    if (point.value == 0) return JsonErrorAt(source, at, "a NUL byte");
    at += point.size;
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view JsonKindName(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBoolean:
      return "a boolean";
    case JsonValue::Kind::kUnsigned:
      return "a whole number";
    case JsonValue::Kind::kOtherNumber:
      return "a negative or fractional number";
    case JsonValue::Kind::kString:
      return "a string";
    case JsonValue::Kind::kArray:
      return "a list";
    case JsonValue::Kind::kObject:
      return "an object";
  }
  return "unknown";
}

absl::Status JsonErrorAt(const JsonSource& source, std::size_t offset, std::string_view what) {
  const LineColumn place = Locate(source.text, offset);
  return MakeError(ErrorCode::kInvalidProfile,
                   absl::StrFormat("%s:%d:%d: %s", EscapeForDisplay(source.name), place.line,
                                   place.column, what));
}

absl::StatusOr<JsonValue> ParseJson(const JsonSource& source) {
  if (absl::Status status = CheckBytes(source); !status.ok()) return status;
  TreeBuilder builder(source);
  try {
    Json::sax_parse(source.text, &builder, Json::input_format_t::json, /*strict=*/true,
                    /*ignore_comments=*/true);
  } catch (const std::exception& error) {
    return JsonErrorAt(source, 0, error.what());
  }
  return std::move(builder).Finish();
}

}  // namespace cordon::internal
