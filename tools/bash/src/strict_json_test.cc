#include "strict_json.h"

#include <string>
#include <string_view>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::internal {
namespace {

TEST_CASE("An object with different members is read whole") {
  const auto object = ParseStrictObject(R"({"a": {"x": 1}, "b": [{"x": 1}, {"x": 2}], "c": "é"})");
  REQUIRE(object.ok());
  CHECK((*object)["a"]["x"] == 1);
  CHECK((*object)["b"][1]["x"] == 2);
  CHECK((*object)["c"] == "é");
}

TEST_CASE("A member that appears twice refuses the text at any depth") {
  for (const std::string_view text :
       {R"({"a": 1, "a": 1})", R"({"a": 1, "b": 2, "\u0061": 3})", R"({"b": {"a": 1, "a": 2}})",
        R"({"b": [{"a": 1}, {"c": {}, "a": 1, "a": 2}]})", R"({"a": {"c": 1}, "a": 2})"}) {
    const auto object = ParseStrictObject(text);
    CHECK(Is(object.status(), ErrorCode::kInvalidArguments));
    CHECK(std::string(object.status().message()).find("member \"a\" appears twice") !=
          std::string::npos);
  }
}

TEST_CASE("Malformed text is refused with its place") {
  const auto object = ParseStrictObject("{\"a\": 1,\n \"b\" 2}");
  CHECK(Is(object.status(), ErrorCode::kInvalidArguments));
  CHECK(std::string(object.status().message()).find("line 2, column") != std::string::npos);
}

TEST_CASE("What is no strict JSON object is refused") {
  for (const std::string_view text : {"",
                                      "   ",
                                      "null",
                                      "1",
                                      "\"text\"",
                                      "[]",
                                      "[{}]",
                                      "{",
                                      "{}}",
                                      "{} {}",
                                      "{\"a\": 1,}",
                                      "{'a': 1}",
                                      "{\"a\": NaN}",
                                      "{\"a\": 01}",
                                      "{// comment\n}",
                                      "\xFF{}",
                                      "{\"a\": \"\xFF\"}",
                                      "{\"\xC3\": 1}",
                                      "{\"a\": \"\xED\xA0\x80\"}",
                                      R"({"a": "\ud800"})",
                                      "{\"a\": \"\x01\"}"}) {
    INFO(text);
    CHECK(Is(ParseStrictObject(text).status(), ErrorCode::kInvalidArguments));
  }
}

TEST_CASE("The message does not name the library that parsed") {
  CHECK(std::string(ParseStrictObject("{").status().message()).find("exception") ==
        std::string::npos);
}

TEST_CASE("Deep nesting is read without exhausting the stack") {
  constexpr int kDepth = 100000;
  const std::string text = "{\"a\": " + std::string(kDepth, '[') + std::string(kDepth, ']') + "}";
  CHECK(ParseStrictObject(text).ok());
}

}  // namespace
}  // namespace cordon::internal
