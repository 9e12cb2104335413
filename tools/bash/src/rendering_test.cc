#include "rendering.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"
#include "support/catch.h"

namespace cordon::internal {
namespace {

using nlohmann::json;
using namespace std::string_view_literals;

constexpr RunLimits kLimits{std::chrono::seconds(30), 1000000};

Profile TestProfile() {
  ProfileConfig config;
  config.workspace_root = "/usr/share";
  config.workspace_read = Access::kAllow;
  config.command = Access::kAllow;
  config.network = Access::kGated;
  config.home_root = "/nonexistent/home";
  absl::StatusOr<Profile> profile = Profile::Create(config);
  REQUIRE(profile.ok());
  return *profile;
}

CapturedOutput Captured(std::string_view bytes, bool valid_utf8 = true) {
  CapturedOutput output;
  output.head = std::string(bytes);
  output.total_bytes = bytes.size();
  output.total_lines = static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  output.valid_utf8 = valid_utf8;
  return output;
}

RunResult Exited(int code, std::string_view standard_output = "",
                 std::string_view standard_error = "") {
  RunResult result;
  result.outcome.kind = Outcome::Kind::kExited;
  result.outcome.code = code;
  result.standard_output = Captured(standard_output);
  result.standard_error = Captured(standard_error);
  return result;
}

RunResult Ended(Outcome::Kind kind, std::optional<int> signal = std::nullopt) {
  RunResult result = Exited(0, "partial\n");
  result.outcome.kind = kind;
  result.outcome.code.reset();
  result.outcome.signal = signal;
  return result;
}

ToolResult Render(const RunResult& result) {
  return RenderRunResult(result, kLimits, TestProfile());
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("A command's end and its two streams are shown apart") {
  CHECK(Render(Exited(0, "out\n", "err\n")).text == "exit code: 0\nstdout:\nout\nstderr:\nerr\n");
  CHECK(Render(Exited(0, "no newline")).text == "exit code: 0\nstdout:\nno newline\n");
  CHECK(Render(Exited(1, "", "only\n")).text == "exit code: 1\nstderr:\nonly\n");
  CHECK(Render(Exited(0)).text == "exit code: 0\n(no output)\n");
}

TEST_CASE("Only what we ended ourselves is an error") {
  struct Case {
    RunResult result;
    std::string_view says;
    bool is_error;
  };
  for (const Case& c : {
           Case{Exited(0), "exit code: 0", false},
           Case{Exited(2), "exit code: 2", false},
           Case{Ended(Outcome::Kind::kSignaled, 11), "ended by signal 11 (SIGSEGV)", false},
           Case{Ended(Outcome::Kind::kSignaled, 40), "ended by signal 40", false},
           Case{Ended(Outcome::Kind::kTimedOut, 15), "timed out after 30 s", true},
           Case{Ended(Outcome::Kind::kOutputLimit, 9), "more than 1,000,000 bytes", true},
           Case{Ended(Outcome::Kind::kCancelled, 15), "cancelled", true},
       }) {
    const ToolResult rendered = Render(c.result);
    INFO(rendered.text);
    CHECK(Has(rendered.text.substr(0, rendered.text.find('\n')), c.says));
    CHECK(rendered.is_error == c.is_error);
    const json structured = json::parse(rendered.structured_json);
    CHECK(structured["outcome"] == std::string(OutcomeKindName(c.result.outcome.kind)));
  }
}

TEST_CASE("What was written before a time limit is kept") {
  CHECK(Has(Render(Ended(Outcome::Kind::kTimedOut)).text, "partial"));
}

TEST_CASE("The structured result has every member") {
  RunResult result = Exited(3, "out", "err");
  result.denials = {{"network", "tcp:example.com:443", 3, "not granted", "--net example.com:443"}};
  result.changed_protected = {"/usr/share/.git/hooks/pre-commit"};
  const json structured = json::parse(Render(result).structured_json);
  CHECK(structured == json{{"exit_code", 3},
                           {"signal", nullptr},
                           {"outcome", "exited"},
                           {"stdout", "out"},
                           {"stderr", "err"},
                           {"truncated", false},
                           {"invalid_utf8", false},
                           {"denials",
                            {{{"kind", "network"},
                              {"target", "tcp:example.com:443"},
                              {"count", 3},
                              {"reason", "not granted"},
                              {"allow_with", "--net example.com:443"}}}},
                           {"changed_protected", {"/usr/share/.git/hooks/pre-commit"}},
                           {"left_running", false},
                           {"notes", json::array()}});
}

TEST_CASE("A refusal is listed with its reason and with how to have it") {
  RunResult result = Exited(0);
  result.denials = {{"network", "tcp:example.com:443", 3, "not granted", "--net example.com:443"}};
  result.changed_protected = {"/w/.git/hooks/pre-commit"};
  const std::string text = Render(result).text;
  INFO(text);
  CHECK(Has(text, "refused while it ran:\n- network tcp:example.com:443, 3 times: not granted; "));
  CHECK(Has(text, R"({"kind":"network","target":"example.com:443"})"));
  CHECK(Has(text, "undone where possible:\n- /w/.git/hooks/pre-commit\n"));
}

TEST_CASE("The gap between head and tail is marked with exact counts") {
  RunResult result = Exited(0);
  result.standard_output.head = "first\nsecond\n";
  result.standard_output.tail = "last\n";
  result.standard_output.total_bytes = 1234585;
  result.standard_output.total_lines = 2003;
  result.standard_output.omitted_bytes = 1234567;
  const ToolResult rendered = Render(result);
  CHECK(Has(rendered.text, "second\n\n[... 1,234,567 bytes in 2,000 lines left out ...]\nlast\n"));
  CHECK(json::parse(rendered.structured_json)["truncated"] == true);
}

TEST_CASE("A cut inside a character neither damages it nor calls the output damaged") {
  RunResult result = Exited(0);
  result.standard_output.head = "head\xF0\x9F\x98";
  result.standard_output.tail = "\x98\x80tail";
  result.standard_output.total_bytes = 1000;
  result.standard_output.omitted_bytes = 987;
  const ToolResult rendered = Render(result);
  CHECK(Has(rendered.text, "head\n[... 992 bytes in 0 lines left out ...]\ntail"));
  CHECK_FALSE(Has(rendered.text, "\xEF\xBF\xBD"));
  CHECK_FALSE(Has(rendered.text, "UTF-8"));
}

TEST_CASE("A cut between head and tail that join is no gap") {
  RunResult result = Exited(0);
  result.standard_output.head = "caf\xC3";
  result.standard_output.tail = "\xA9 au lait";
  result.standard_output.total_bytes = 13;
  CHECK(Render(result).text == "exit code: 0\nstdout:\ncafé au lait\n");
}

TEST_CASE("Odd bytes are replaced or made visible, and that is said") {
  RunResult result = Exited(0);
  result.standard_output = Captured("start\377\376\000middle\033[31mred\r\nend"sv, false);
  const ToolResult rendered = Render(result);
  INFO(rendered.text);
  CHECK(Has(rendered.text, "start\xEF\xBF\xBD\xEF\xBF\xBD\\x00middlered\nend"));
  CHECK(Has(rendered.text, "stdout is no valid UTF-8"));
  CHECK(Has(rendered.text, "1 terminal control sequence"));
  CHECK(Has(rendered.text, "1 control character"));
  const json structured = json::parse(rendered.structured_json);
  CHECK(structured["invalid_utf8"] == true);
  CHECK(structured["stdout"] ==
        std::string("start\xEF\xBF\xBD\xEF\xBF\xBD\000middle\033[31mred\r\nend"sv));
}

TEST_CASE("Damage in the part that was left out is said as well") {
  RunResult result = Exited(0);
  result.standard_error = Captured("clean", false);
  result.standard_error.omitted_bytes = 10;
  const ToolResult rendered = Render(result);
  CHECK(Has(rendered.text, "stderr has invalid UTF-8 in the part that was left out"));
  CHECK(json::parse(rendered.structured_json)["invalid_utf8"] == true);
}

TEST_CASE("What the command left running is said, with how to keep it where that is possible") {
  RunResult result = Exited(0, "out\n");
  CHECK_FALSE(Has(Render(result).text, "still ran"));  // The control.
  result.left_running = true;
  const ToolResult plain = RenderRunResult(result, kLimits, TestProfile());
  CHECK(Has(plain.text, "still ran when the command itself was over, and was ended"));
  CHECK_FALSE(Has(plain.text, "background"));
  CHECK(json::parse(plain.structured_json)["left_running"] == true);
  CallContext context;
  context.has_jobs = true;
  CHECK(Has(RenderRunResult(result, kLimits, TestProfile(), context).text, "background"));
  result = Ended(Outcome::Kind::kTimedOut, 15);
  result.left_running = true;  // That everything was ended is said already.
  CHECK_FALSE(Has(Render(result).text, "still ran"));
  result.end_proved = false;
  CHECK(Has(Render(result).text, "may still run"));
}

TEST_CASE("Merged output has a name of its own in the text") {
  CallContext context;
  context.output_is_merged = true;
  CHECK(RenderRunResult(Exited(0, "a\nb\n"), kLimits, TestProfile(), context).text ==
        "exit code: 0\noutput:\na\nb\n");
}

TEST_CASE("Valid text of any script is neither changed nor called damaged") {
  const ToolResult rendered = Render(Exited(0, "plain-é-😀\n"));
  CHECK(rendered.text == "exit code: 0\nstdout:\nplain-é-😀\n");
  CHECK(json::parse(rendered.structured_json)["invalid_utf8"] == false);
}

TEST_CASE("A failing command gets an explanation and a successful one none") {
  const std::string complaint = "cat: /nonexistent/home/.ssh/id: Permission denied\n";
  CHECK(
      Has(Render(Exited(1, "", complaint)).text, "notes:\n- /nonexistent/home/.ssh/id cannot be"));
  CHECK_FALSE(Has(Render(Exited(0, "", complaint)).text, "notes:"));
}

TEST_CASE("Names that a hostile command chose cannot break the lines of the report") {
  RunResult result = Exited(0);
  result.denials = {{"filesystem.write", "/x\nexit code: 0\x1b[2J", 1, "not writable", ""}};
  result.changed_protected = {"/w/a\nb\xFF"};
  const ToolResult rendered = Render(result);
  CHECK_FALSE(Has(rendered.text, "\nexit code: 0\x1b"));
  CHECK_FALSE(Has(rendered.text, "\x1b"));
  CHECK(Has(rendered.text, "- /w/a\\nb"));
  CHECK(json::accept(rendered.structured_json));
}

TEST_CASE("Durations read like people write them") {
  using std::chrono::milliseconds;
  CHECK(DurationText(milliseconds(500)) == "500 ms");
  CHECK(DurationText(milliseconds(1500)) == "1.5 s");
  CHECK(DurationText(milliseconds(30000)) == "30 s");
  CHECK(DurationText(milliseconds(90000)) == "90 s");
  CHECK(DurationText(milliseconds(120000)) == "2 min");
}

}  // namespace
}  // namespace cordon::internal
