// The question on a real screen: a terminal in tmux, what it shows, and what is typed there.

#include <string>
#include <vector>

#include "integration/support/command_profile.h"
#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/tmux.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// A workspace whose commands are gated, and `cordon run` in it.
class GatedGround : public Ground {
 public:
  [[nodiscard]] std::string Run(const std::string& text, const std::string& more = "") const {
    return "cd " + Quoted(workspace()) + " && " + Quoted(CordonProgram()) + " run -w " +
           Quoted(workspace()) + " -p " + Quoted(profile_) + " " + more + " --no-tty -c " +
           Quoted(text);
  }

 private:
  const std::string profile_ = CommandProfile(*this, "gated");
};

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kChoices = "[e] no, with words for the model";
constexpr const char* kEnded = "ended with ";

// Waits until keys count: what is typed before the guard interval is over is thrown away, so the
// key is pressed again until it had its effect.
bool PressUntil(const Tmux& tmux, const std::string& key, const std::string& effect) {
  return Within(seconds(20), [&] {
    tmux.Press(key);
    return tmux.Shows(effect, seconds(1));
  });
}

TEST_CASE("the question stands on the screen in full, and y approves it once") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(), ground.Run("echo ran >ran && rm -f nothing"), 100, 50);
  REQUIRE(tmux.Shows(kChoices));
  const std::string screen = tmux.Screen();
  for (const std::string part :
       {"cordon: may the tool cordon do this?", "  | echo ran >ran && rm -f nothing",
        "(1 line, 30 bytes)", "directory: ", "- deletes (`rm`)", "- overwrites ran",
        "asks for:", "[y] yes, once", "[n] no (preselected: Enter or Escape)", "nothing runs"}) {
    CAPTURE(screen, part);
    CHECK(Holds(screen, part));
  }
  REQUIRE(PressUntil(tmux, "y", kEnded));
  CHECK(tmux.Shows("approved once"));
  CHECK(tmux.Shows("ended with 0"));
  CHECK(ground.Exists("ran"));
}

TEST_CASE("Enter and Escape deny, since no is preselected") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  for (const char* key : {"Enter", "Escape", "n"}) {
    const GatedGround ground;
    const Tmux tmux(ground.root(), ground.Run("echo ran >ran"));
    REQUIRE(tmux.Shows(kChoices));
    REQUIRE(PressUntil(tmux, key, kEnded));
    CHECK(tmux.Shows("denied"));
    CHECK(tmux.Shows("a person refused"));
    CHECK(tmux.Shows("ended with 125"));
    CHECK_FALSE(ground.Exists("ran"));
  }
}

TEST_CASE("a refusal can carry words") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(), ground.Run("echo ran >ran"));
  REQUIRE(tmux.Shows(kChoices));
  REQUIRE(PressUntil(tmux, "e", "say why, then Enter:"));
  tmux.Type("use make instead");
  tmux.Press("Enter");
  CHECK(tmux.Shows("saying \"use make instead\""));
  CHECK(tmux.Shows("ended with 125"));
  CHECK_FALSE(ground.Exists("ran"));
}

TEST_CASE(
    "a command that is larger than the screen is read page by page before it can be approved") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  std::string text = "echo first >ran\n";
  for (int i = 0; i < 60; ++i) text += "true line-" + std::to_string(i) + "\n";
  text += "echo last >>ran";
  const Tmux tmux(ground.root(), ground.Run(text), 80, 24);
  REQUIRE(tmux.Shows("-- page 1 of "));
  CHECK(Holds(tmux.Screen(), "  | echo first >ran"));
  CHECK_FALSE(Holds(tmux.Screen(), "echo last"));
  CHECK_FALSE(Holds(tmux.Screen(), "[y]"));
  // There is nothing to approve with here.
  tmux.Press("y");
  tmux.Press("y");
  CHECK_FALSE(ground.Exists("ran"));
  REQUIRE(PressUntil(tmux, "Space", "-- page 2 of "));
  CHECK(Holds(tmux.Screen(), "  | true line-30"));
  REQUIRE(PressUntil(tmux, "Space", kChoices));
  REQUIRE(PressUntil(tmux, "y", kEnded));
  CHECK(ground.Read("ran") == "first\nlast\n");
}

TEST_CASE("control characters and directions of text do not reach the screen") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(), ground.Run("echo \x1b[2J\x1b[1;1Hharmless \xe2\x80\xae >ran"));
  REQUIRE(tmux.Shows(kChoices));
  CHECK(Holds(tmux.Screen(), "  | echo \\x1b[2J\\x1b[1;1Hharmless \\u202e >ran"));
  CHECK(Holds(tmux.Screen(), "may the tool cordon do this?"));
  REQUIRE(PressUntil(tmux, "n", kEnded));
}

TEST_CASE("what was typed before the question is thrown away") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(), "read -r go; " + ground.Run("echo ran >ran"));
  tmux.Type("go");
  tmux.Press("Enter");
  for (int i = 0; i < 20; ++i) tmux.Type("y");
  REQUIRE(tmux.Shows(kChoices));
  CHECK_FALSE(tmux.Shows("approved", seconds(1)));
  CHECK_FALSE(ground.Exists("ran"));
  REQUIRE(PressUntil(tmux, "n", "ended with 125"));
}

TEST_CASE("a screen of 40 columns shows every line whole or marked, and the choices unbroken") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(), ground.Run("echo " + std::string(60, 'x')), 40, 50);
  REQUIRE(tmux.Shows(kChoices));
  const std::string screen = tmux.Screen();
  CHECK(Holds(screen, "  [n] no (preselected: Enter or Escape)\n"));
  CHECK(Holds(screen, "  | echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  > xxxx"));
  REQUIRE(PressUntil(tmux, "n", kEnded));
}

TEST_CASE("when the window changes the question is shown again for its new width") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(), ground.Run("echo " + std::string(70, 'x')), 100, 50);
  REQUIRE(tmux.Shows(kChoices));
  tmux.Resize(50, 50);
  REQUIRE(tmux.Shows("the window changed: once more"));
  REQUIRE(tmux.Shows("  > xxxx"));
  REQUIRE(PressUntil(tmux, "n", "ended with 125"));
}

TEST_CASE("two questions at once come one after the other, each with its own answer") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const Tmux tmux(ground.root(),
                  "{ " + ground.Run("echo one >one") + " </dev/tty & " +
                      ground.Run("echo two >two") + " </dev/tty & wait; }",
                  80, 60);
  REQUIRE(tmux.Shows(kChoices));
  const auto count = [&tmux](const std::string& text) {
    const std::string screen = tmux.Screen();
    int found = 0;
    for (std::size_t at = screen.find(text); at != std::string::npos;
         at = screen.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  CHECK(count(kChoices) == 1);
  const bool first_is_one = Holds(tmux.Screen(), "| echo one");
  REQUIRE(PressUntil(tmux, "y", "approved once"));
  REQUIRE(Within(seconds(20), [&] { return count(kChoices) == 2; }));
  CHECK(Holds(tmux.Screen(), first_is_one ? "| echo two" : "| echo one"));
  REQUIRE(PressUntil(tmux, "n", kEnded));
  CHECK(ground.Exists(first_is_one ? "one" : "two"));
  CHECK_FALSE(ground.Exists(first_is_one ? "two" : "one"));
}

// Asks for a target while it runs, and reads a line after that.
std::string RunThatIsAsked(const Ground& ground, const std::string& terminal) {
  const std::string text =
      "bash -c 'exec 3<>/dev/tcp/name.example/80' 2>/dev/null; read -r line; echo \"got:$line.\"";
  return "cd " + Quoted(ground.workspace()) + " && " + Quoted(CordonProgram()) + " run " +
         terminal + " -w " + Quoted(ground.workspace()) + " -c " + Quoted(text);
}

TEST_CASE("keys at a running command's question are not the command's, and its later ones are") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  for (const char* terminal : {"--no-tty", "--tty"}) {
    CAPTURE(terminal);
    const Ground ground;
    const Tmux tmux(ground.root(), RunThatIsAsked(ground, terminal), 100, 50);
    REQUIRE(tmux.Shows(kChoices));
    CHECK(Holds(tmux.Screen(), "network tcp:name.example:80"));
    CHECK(Holds(tmux.Screen(), "by the command, which is running"));
    // In no terminal that is raw, where a new line does not begin at the left.
    CHECK(Holds(tmux.Screen(), "\n  [n] no (preselected: Enter or Escape)\n"));
    REQUIRE(PressUntil(tmux, "n", "denied"));
    tmux.Type("hello");
    tmux.Press("Enter");
    CHECK(tmux.Shows("got:hello."));
    CHECK(tmux.Shows("ended with 0"));
  }
}

TEST_CASE("a command with a terminal of its own can be refused with words while it runs") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const Ground ground;
  const Tmux tmux(ground.root(), RunThatIsAsked(ground, "--tty"), 100, 50);
  REQUIRE(tmux.Shows(kChoices));
  REQUIRE(PressUntil(tmux, "e", "say why, then Enter:"));
  tmux.Type("not now");
  tmux.Press("Enter");
  CHECK(tmux.Shows("denied"));  // The line ended: this terminal is not raw meanwhile.
  // Keys are the command's terminal's again, which turns Ctrl-D into the end of its input.
  tmux.Press("C-d");
  CHECK(tmux.Shows("got:."));
  CHECK(tmux.Shows("ended with 0"));
}

TEST_CASE(
    "what always would store is shown, can be made wider, and then holds without a question") {
  if (!Tmux::IsInstalled()) CORDON_SKIP("tmux", "it is not installed");
  const GatedGround ground;
  const std::string rules = "--rules " + Quoted(ground.root() + "/rules.json");
  {
    const Tmux tmux(ground.root(), ground.Run("ls -l && pwd", rules), 100, 50);
    REQUIRE(tmux.Shows(kChoices));
    CHECK(Holds(tmux.Screen(), "allow exact \"ls -l && pwd\" in "));
    REQUIRE(PressUntil(tmux, "w", "for the next 8 hours"));
    REQUIRE(PressUntil(tmux, "w", "allow family \"ls\" in "));
    REQUIRE(PressUntil(tmux, "a", "approved always"));
    REQUIRE(tmux.Shows("ended with 0"));
  }
  const Tmux tmux(ground.root(), ground.Run("pwd && ls -a", rules), 100, 50);
  REQUIRE(tmux.Shows("ended with 0"));
  CHECK_FALSE(Holds(tmux.Screen(), "[y]"));
}

}  // namespace
}  // namespace cordon::test
