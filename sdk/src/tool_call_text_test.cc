#include "tool_call_text.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cordon/sdk/status.h"
#include "support/catch.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

using Json = nlohmann::json;
using namespace std::string_literals;

constexpr int kCodes = static_cast<int>(ErrorCode::kLogFailed) + 1;

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = FirstCodePoint(text);
    if (!point.valid) return false;
    text.remove_prefix(point.size);
  }
  return true;
}

TEST_CASE("sound text is left as it is") {
  const std::string text = "tab\t back\\slash\n\xe6\x97\xa5 \xe2\x80\xae \xf0\x9f\x98\x80";
  CHECK(PresentableText(text) == text);
  CHECK(PresentableText("").empty());
}

TEST_CASE("control codes and bytes that are not UTF-8 are shown, and said to be") {
  for (const std::string& bytes :
       {"\x1b[2J"s, "\xff"s, "\xc2\x9b"s, "\r"s, "\0"s, "\x7f"s, "\xed\xa0\x80"s}) {
    const std::string shown = PresentableText("a" + bytes + "b\\");
    CAPTURE(shown);
    CHECK(shown.starts_with("a\\"));
    CHECK(shown.find("b\\\n[") != std::string::npos);
    CHECK(shown.find("shown as escapes") != std::string::npos);
    CHECK(PresentableText(shown) == shown);
  }
}

TEST_CASE("text within the limit is whole") {
  CHECK(BoundText("abc", 3) == "abc");
  CHECK(BoundText("", 1).empty());
}

TEST_CASE("text beyond the limit keeps head and tail, and says exactly what is missing") {
  const std::string text(500, 'h');
  const std::string bounded = BoundText(text + std::string(500, 't'), 100);
  CHECK(bounded.size() <= 100);
  const std::size_t head = bounded.find('\n');
  const std::size_t tail = bounded.rfind('\n') + 1;
  CHECK(bounded.substr(0, head) == std::string(head, 'h'));
  CHECK(bounded.substr(tail) == std::string(bounded.size() - tail, 't'));
  const std::size_t missing = 1000 - head - (bounded.size() - tail);
  CHECK(bounded.find("[... " + std::to_string(missing) + " bytes omitted ...]") !=
        std::string::npos);
}

TEST_CASE("no limit and no width of characters makes a cut inside one") {
  for (const std::string& character : {"a"s, "\xc3\xa9"s, "\xe6\x97\xa5"s, "\xf0\x9f\x98\x80"s}) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += character;
    for (std::size_t limit = 0; limit <= text.size(); ++limit) {
      const std::string bounded = BoundText(text, limit);
      CAPTURE(limit, bounded);
      CHECK(bounded.size() <= limit);
      CHECK(IsUtf8(bounded));
    }
  }
}

TEST_CASE("every error is rendered with its name, message and a JSON twin") {
  for (int i = 0; i < kCodes; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const ToolResult result = RenderError(MakeError(code, "what \"happened\""), nullptr);
    const std::string name(ErrorCodeName(code));
    CAPTURE(name);
    CHECK(result.is_error);
    CHECK(result.text.find("(" + name + "): what \"happened\"\n") != std::string::npos);
    const Json error = Json::parse(result.structured_json).at("error");
    CHECK(error.at("code") == name);
    CHECK(error.at("message") == "what \"happened\"");
    CHECK(result.text.starts_with(error.at("verdict").get<std::string>() + " ("));
  }
}

TEST_CASE("refused, unanswered and cancelled are told apart") {
  const auto text = [](ErrorCode code) { return RenderError(MakeError(code, "m"), nullptr).text; };
  CHECK(text(ErrorCode::kRefusedByPerson).find("a person said no") != std::string::npos);
  CHECK(text(ErrorCode::kApprovalTimedOut).find("not a refusal") != std::string::npos);
  CHECK(text(ErrorCode::kNoApprover).find("nobody can be asked") != std::string::npos);
  CHECK(text(ErrorCode::kCancelled).starts_with("cancelled"));
  CHECK(text(ErrorCode::kSetupFailed).starts_with("failed"));
}

TEST_CASE("a status of somebody else is rendered with its canonical name") {
  CHECK(RenderError(absl::NotFoundError("m"), nullptr).text == "failed (not_found): m\n");
  CHECK(RenderError(absl::CancelledError("m"), nullptr).text.starts_with("cancelled (cancelled)"));
}

TEST_CASE("what was requested is listed") {
  Request request;
  request.authority = std::vector<Requirement>{RequireCommand(Command::Shell("id", "/")),
                                               RequireNetwork({"example.com", 443, false})};
  const ToolResult result = RenderError(MakeError(ErrorCode::kNoApprover, "m"), &request);
  CHECK(result.text.find("requested: command.execute id\n"
                         "requested: network tcp:example.com:443\n") != std::string::npos);
  const Json requested = Json::parse(result.structured_json).at("error").at("requested");
  REQUIRE(requested.size() == 2);
  CHECK(requested.at(1).at("kind") == "network");
  CHECK(requested.at(1).at("target") == "tcp:example.com:443");
}

TEST_CASE("a message with bytes of any kind gives sound text and JSON") {
  const ToolResult result =
      RenderError(MakeError(ErrorCode::kToolFailed, "a\x1b\xff\xc2\x9b"), nullptr);
  CHECK(IsUtf8(result.text));
  CHECK(result.text.find('\x1b') == std::string::npos);
  CHECK(Json::parse(result.structured_json).at("error").at("code") == "tool_failed");
}

}  // namespace
}  // namespace cordon::internal
