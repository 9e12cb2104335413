#include "prompt.h"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace cordon::internal {
namespace {

ApprovalCard CardFor(const Command& command) {
  ApprovalCard card;
  card.request.tool = "bash";
  card.request.command = command;
  card.pending = {RequireCommand(command)};
  card.request.authority = card.pending;
  return card;
}

std::string Render(const ApprovalCard& card, std::size_t columns = 80) {
  return RenderCard(card, {columns, false}, std::chrono::seconds(30));
}

bool Holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back().push_back(c);
    }
  }
  return lines;
}

TEST_CASE("a card shows everything that runs and is stored") {
  ApprovalCard card = CardFor(Command::Shell("make test\nmake install", "/code"));
  card.request.details = {{"timeout", "30 s"}, {"environment", "CI"}};
  card.request.model_description = "runs the tests";
  const Requirement target = RequireNetwork(ParseNetworkTarget("a.example:443").value());
  card.request.authority = std::vector<Requirement>{card.pending[0], target};
  card.would_store = {"allow exact \"make test\" in /code"};
  card.can_persist = true;
  const std::string text = Render(card);
  for (const std::string_view part :
       {"tool bash", "2 lines, 22 bytes", "  | make test\n", "  | make install\n",
        "directory: /code", "timeout: 30 s", "environment: CI",
        "the model says (not checked): runs the tests", "command.execute", "allowed already",
        "tcp:a.example:443", "would store", "allow exact \"make test\" in /code", "[y] yes, once",
        "[s]", "[a]", "[n] no (preselected", "[e]", "30 s"}) {
    CAPTURE(part);
    CHECK(Holds(text, part));
  }
}

TEST_CASE("what is not offered is not shown") {
  ApprovalCard card = CardFor(Command::Shell("make", "/code"));
  CHECK_FALSE(Holds(Render(card), "[s]"));
  CHECK_FALSE(Holds(Render(card), "[a]"));
  card.would_store = {"allow"};
  CHECK(Holds(Render(card), "[s]"));
  CHECK_FALSE(Holds(Render(card), "[a]"));
}

TEST_CASE("no control, bidirectional or invisible character reaches the terminal") {
  ApprovalCard card =
      CardFor(Command::Shell("echo \x1b[2J\r\t\x07 \xe2\x80\xae \xe2\x80\x8b", "/w"));
  card.request.tool = "ba\x1bsh";
  card.request.model_description = "x\x1b]0;y\x07";
  card.request.details = {{"a\x1b", "b\x1b\nc"}};
  const std::string text = Render(card);
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK_FALSE(Holds(text, "\xe2\x80\xae"));
  CHECK(Holds(text, "\\u202e"));
  CHECK(Holds(text, "\\u200b"));
}

TEST_CASE("different commands never look alike") {
  const std::string_view texts[] = {"a b",
                                    "a  b",
                                    "a\tb",
                                    "a\\tb",
                                    "a\nb",
                                    "a\\nb",
                                    "a b ",
                                    "a\x1b",
                                    "a\\x1b",
                                    "a",
                                    "a\n",
                                    "a\xff",
                                    "a\xc2\xa0"
                                    "b",
                                    "a\\u00a0b",
                                    "\xd0\xb0",
                                    "a\\"};
  std::vector<std::string> seen;
  for (const std::string_view text : texts) {
    const std::string page = Render(CardFor(Command::Shell(std::string(text), "/w")));
    for (const std::string& other : seen) CHECK(page != other);
    seen.push_back(page);
  }
}

TEST_CASE("a long line is broken with a mark, so that its tail passes for nothing else") {
  const std::string fake = "  directory: /harmless";
  const std::string command = "echo " + std::string(200, ' ') + fake + std::string(100, 'x');
  for (const std::size_t columns : {std::size_t{20}, std::size_t{40}, std::size_t{80}}) {
    const std::vector<std::string> lines =
        Lines(Render(CardFor(Command::Shell(command, "/w")), columns));
    std::string joined;
    for (const std::string& line : lines) {
      CHECK(line.size() < columns);
      CHECK_FALSE(line.starts_with(fake));
      if (line.starts_with("  | ") || line.starts_with("  > ")) joined += line.substr(4);
    }
    CHECK(Holds(joined, command));
  }
}

TEST_CASE("wide characters count double") {
  CHECK(BreakLine("", "\xe6\x96\x87\xe6\x96\x87\xe6\x96\x87", 20) ==
        "\xe6\x96\x87\xe6\x96\x87\xe6\x96\x87\n");
  std::string wide;
  for (int i = 0; i < 10; ++i) wide += "\xe6\x96\x87";
  CHECK(Lines(BreakLine("", wide, 20)).size() == 3);
}

TEST_CASE("a key is a choice only where it is offered") {
  ApprovalCard card = CardFor(Command::Shell("make", "/w"));
  CHECK(ReadKey("y", card) == PromptChoice::kOnce);
  CHECK(ReadKey("y\n", card) == PromptChoice::kOnce);
  CHECK(ReadKey("s", card) == PromptChoice::kNone);
  CHECK(ReadKey("a", card) == PromptChoice::kNone);
  card.would_store = {"allow"};
  CHECK(ReadKey("s", card) == PromptChoice::kSession);
  CHECK(ReadKey("a", card) == PromptChoice::kNone);
  card.can_persist = true;
  CHECK(ReadKey("a", card) == PromptChoice::kAlways);
  CHECK(ReadKey("e", card) == PromptChoice::kDenyWithWords);
  for (const std::string_view key : {"n", "N", "\n", "\r", "\x1b"}) {
    CHECK(ReadKey(key, card) == PromptChoice::kDeny);
  }
  CHECK(ReadKey("\x03", card) == PromptChoice::kInterrupt);
}

TEST_CASE("pasted text and escape sequences are no choice") {
  const ApprovalCard card = CardFor(Command::Shell("make", "/w"));
  for (const std::string_view keys : {"yes", "yes\n", "yy", "y\ny", "\x1b[A", "x", "", " ", "1"}) {
    CAPTURE(keys);
    CHECK(ReadKey(keys, card) == PromptChoice::kNone);
  }
}

}  // namespace
}  // namespace cordon::internal
