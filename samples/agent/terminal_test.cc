#include "terminal.h"

#include <sstream>
#include <string>

#include "cordon/sdk/status.h"
#include "support/catch.h"

namespace cordon::agent {
namespace {

ToolCall BashCall(const std::string& json_command) {
  return {"id", "bash", R"({"command": ")" + json_command + "\"}"};
}

ToolCallOutcome Ran(std::string text) {
  ToolCallOutcome outcome;
  outcome.result.text = std::move(text);
  return outcome;
}

TEST_CASE("A command is shown with how it ended and what it wrote") {
  std::ostringstream out;
  Terminal terminal(out, false);
  terminal.OnOutcome(BashCall("make test"), Ran("exit code: 2\nstdout:\nFAIL\n"));
  CHECK(out.str() == "  $ make test\n    exit code: 2\n    | stdout:\n    | FAIL\n");
}

TEST_CASE("Long output is shortened and says by how much") {
  std::string text = "exit code: 0\n";
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
  std::ostringstream out;
  Terminal terminal(out, false);
  terminal.OnOutcome(BashCall("seq"), Ran(text));
  CHECK(out.str().find("line 13\n") != std::string::npos);
  CHECK(out.str().find("line 14\n") == std::string::npos);
  CHECK(out.str().find("(86 more lines)") != std::string::npos);
}

TEST_CASE("A refused call is shown with its code and its whole reason") {
  ToolCallOutcome outcome;
  outcome.status = MakeError(ErrorCode::kNoApprover, "nobody is there");
  outcome.result.text = "refused: nobody is there\n";
  std::ostringstream out;
  Terminal terminal(out, false);
  terminal.OnOutcome(BashCall("rm x"), outcome);
  CHECK(out.str() == "  $ rm x\n    refused: no_approver\n    | refused: nobody is there\n");
}

TEST_CASE("Colour appears only where it was asked for") {
  std::ostringstream plain;
  std::ostringstream colored;
  for (std::ostringstream* out : {&plain, &colored}) {
    Terminal terminal(*out, out == &colored);
    terminal.Heading("title");
    terminal.OnText("text");
    terminal.OnOutcome(BashCall("x"), Ran("exit code: 0\n(no output)\n"));
  }
  CHECK(plain.str().find('\x1b') == std::string::npos);
  CHECK(colored.str().find("\x1b[32m") != std::string::npos);
}

TEST_CASE("Neither a model's words nor its commands can steer the terminal") {
  std::ostringstream out;
  Terminal terminal(out, false);
  terminal.OnText("words\x1b[2J");
  terminal.OnOutcome(BashCall(R"(echo \u001b]0;title\u0007 \u202e)"), Ran("exit code: 0\n"));
  CHECK(out.str().find('\x1b') == std::string::npos);
  CHECK(out.str().find("\xE2\x80\xAE") == std::string::npos);
  CHECK(out.str().find("\\x1b") != std::string::npos);
}

TEST_CASE("A command of several lines keeps its lines") {
  std::ostringstream out;
  Terminal terminal(out, false);
  terminal.OnOutcome(BashCall(R"(cat <<E\ntext\nE)"), Ran("exit code: 0\n"));
  CHECK(out.str().find("  $ cat <<E\n  > text\n  > E\n") == 0);
}

TEST_CASE("Columns of a table line up, also with letters of several bytes") {
  std::ostringstream out;
  Terminal terminal(out, false);
  terminal.Table({{"é", "x"}, {"long", "y"}});
  CHECK(out.str() == "  é     x\n  long  y\n");
}

TEST_CASE("Long lines break at spaces and hang where they began") {
  CHECK(Wrap("short", 10, 2) == std::vector<std::string>{"short"});
  CHECK(Wrap("one two three four", 9, 2) ==
        std::vector<std::string>{"one two", "  three", "  four"});
  CHECK(Wrap("a-word-that-is-too-long b", 9, 0) ==
        std::vector<std::string>{"a-word-that-is-too-long b"});
  CHECK(Wrap("key  a value of words", 12, 5) ==
        std::vector<std::string>{"key  a value", "     of", "     words"});
  CHECK(Wrap("", 10, 2) == std::vector<std::string>{""});
}

TEST_CASE("A text is shortened to its first line and never inside a character") {
  CHECK(Shorten("short", 10) == "short");
  CHECK(Shorten("exactly-10", 10) == "exactly-10");
  CHECK(Shorten("longer than that", 10) == "longer ...");
  CHECK(Shorten("first\nsecond", 20) == "first...");
  CHECK(Shorten("ééééééé", 6) == "ééé...");
}

TEST_CASE("Arguments that are no call of the Bash tool are shown as they are") {
  CHECK(CommandOf({"id", "bash", "not json"}) == "not json");
  CHECK(CommandOf({"id", "bash", R"({"command": 5})"}) == R"({"command": 5})");
}

}  // namespace
}  // namespace cordon::agent
