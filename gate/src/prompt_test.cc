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

std::string RenderAll(absl::Span<const ApprovalCard> cards, const PromptState& state,
                      std::size_t columns = 80) {
  const PromptStyle style{columns, 0, false};
  return RenderQuestion(cards, style) +
         RenderChoices(cards, state, style, std::chrono::seconds(30));
}

std::string Render(const ApprovalCard& card, std::size_t columns = 80) {
  return RenderAll({&card, 1}, PromptState(1), columns);
}

PromptChoice KeyFor(std::string_view bytes, const ApprovalCard& card) {
  return ReadKey(bytes, {&card, 1}).choice;
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
        "tcp:a.example:443", "store:", "allow exact \"make test\" in /code", "[y] yes, once", "[s]",
        "[a]", "[n] no (preselected", "[e]", "30 s"}) {
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
  CHECK(KeyFor("y", card) == PromptChoice::kOnce);
  CHECK(KeyFor("y\n", card) == PromptChoice::kOnce);
  CHECK(KeyFor("s", card) == PromptChoice::kNone);
  CHECK(KeyFor("a", card) == PromptChoice::kNone);
  card.would_store = {"allow"};
  CHECK(KeyFor("s", card) == PromptChoice::kSession);
  CHECK(KeyFor("a", card) == PromptChoice::kNone);
  card.can_persist = true;
  CHECK(KeyFor("a", card) == PromptChoice::kAlways);
  CHECK(KeyFor("e", card) == PromptChoice::kDenyWithWords);
  for (const std::string_view key : {"n", "N", "\n", "\r", "\x1b"}) {
    CHECK(KeyFor(key, card) == PromptChoice::kDeny);
  }
  CHECK(KeyFor("\x03", card) == PromptChoice::kInterrupt);
}

TEST_CASE("pasted text and escape sequences are no choice") {
  const ApprovalCard card = CardFor(Command::Shell("make", "/w"));
  for (const std::string_view keys : {"yes", "yes\n", "yy", "y\ny", "\x1b[A", "x", "", " ", "1"}) {
    CAPTURE(keys);
    CHECK(KeyFor(keys, card) == PromptChoice::kNone);
  }
}

TEST_CASE("a card says what can be seen of a command and which files its programs are") {
  ApprovalCard card = CardFor(Command::Shell("rm x", "/w"));
  card.effects = {"deletes (`rm`)"};
  card.programs = {"/usr/bin/rm"};
  card.waiting_behind = 2;
  const std::string text = Render(card);
  CHECK(Holds(text, "  - deletes (`rm`)\n"));
  CHECK(Holds(text, "  - /usr/bin/rm\n"));
  CHECK(Holds(text, "2 more questions waiting"));
}

TEST_CASE("another form of what is stored is shown in full before it can be chosen") {
  ApprovalCard card = CardFor(Command::Shell("make", "/w"));
  card.would_store = {"allow exact \"make\""};
  card.wider = {{"every use", {"allow family \"make\""}}};
  PromptState state(1);
  CHECK(Holds(RenderAll({&card, 1}, state), "allow exact"));
  CHECK(Holds(RenderAll({&card, 1}, state), "[w]"));
  state.form = 1;
  CHECK(Holds(RenderAll({&card, 1}, state), "to be stored: every use"));
  CHECK(Holds(RenderAll({&card, 1}, state), "allow family"));
  CHECK_FALSE(Holds(RenderAll({&card, 1}, state), "allow exact"));
  CHECK(KeyFor("w", card) == PromptChoice::kNextForm);
  card.wider.clear();
  CHECK(KeyFor("w", card) == PromptChoice::kNone);
}

TEST_CASE("the calls of one step stand on one card, each with its mark and its key") {
  const std::vector<ApprovalCard> cards = {CardFor(Command::Shell("make one", "/w")),
                                           CardFor(Command::Shell("make two", "/w"))};
  PromptState state(2);
  state.marked[1] = false;
  const std::string text = RenderAll(cards, state);
  for (const std::string_view part :
       {"these 2 calls", "call 1 of 2", "  | make one\n", "call 2 of 2", "  | make two\n",
        "1 [x] make one\n", "2 [ ] make two\n", "[1-2] mark a call"}) {
    CAPTURE(part);
    CHECK(Holds(text, part));
  }
  CHECK(ReadKey("2", cards).choice == PromptChoice::kToggle);
  CHECK(ReadKey("2", cards).call == 1);
  CHECK(ReadKey("3", cards).choice == PromptChoice::kNone);
  CHECK(ReadKey("0", cards).choice == PromptChoice::kNone);
}

TEST_CASE("every line fits a screen of 40 columns, with the choices unbroken") {
  ApprovalCard card = CardFor(Command::Shell("make " + std::string(100, 'x'), "/w"));
  card.would_store = {"allow exact \"make\" in " + std::string(60, 'd')};
  card.wider = {{"wider", {"allow family \"make\""}}};
  card.can_persist = true;
  const std::string text = Render(card, 40);
  for (const std::string& line : Lines(text)) CHECK(line.size() < 40);
  for (const std::string_view part :
       {"  [y] yes, once\n", "  [s] yes, for this session\n", "  [a] yes, always\n",
        "  [w] store another form\n", "  [n] no (preselected: Enter or Escape)\n",
        "  [e] no, with words for the model\n", "  no answer in 30 s: nothing runs\n"}) {
    CAPTURE(part);
    CHECK(Holds(text, part));
  }
}

TEST_CASE("pages hold every line once and in order") {
  std::string text;
  for (int i = 0; i < 25; ++i) text += "line " + std::to_string(i) + "\n";
  for (const std::size_t rows :
       {std::size_t{0}, std::size_t{1}, std::size_t{10}, std::size_t{25}}) {
    const std::vector<std::string> pages = SplitPages(text, rows);
    std::string joined;
    for (const std::string& page : pages) {
      CHECK_FALSE(page.empty());
      if (rows > 0) CHECK(Lines(page).size() <= rows + 1);
      joined += page;
    }
    CHECK(joined == text);
    CHECK(pages.size() == (rows == 0 ? 1 : (25 + rows - 1) / rows));
  }
}

TEST_CASE("between pages there is nothing to approve with") {
  for (const std::string_view key : {"y", "a", "s", "yes", " y", ""}) {
    CHECK(ReadPageKey(key) == PageChoice::kUnknown);
  }
  CHECK(ReadPageKey(" ") == PageChoice::kNext);
  CHECK(ReadPageKey("\r") == PageChoice::kNext);
  CHECK(ReadPageKey("n") == PageChoice::kDeny);
  CHECK(ReadPageKey("\x1b") == PageChoice::kDeny);
  CHECK(ReadPageKey("\x03") == PageChoice::kInterrupt);
}

TEST_CASE("the time left is told in words") {
  CHECK(TimeLeftText(std::chrono::seconds(-1)) == "0 s");
  CHECK(TimeLeftText(std::chrono::seconds(119)) == "119 s");
  CHECK(TimeLeftText(std::chrono::seconds(305)) == "5:05 min");
}

}  // namespace
}  // namespace cordon::internal
