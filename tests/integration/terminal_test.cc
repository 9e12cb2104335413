// `cordon run` at a terminal: real programs, driven through tmux, and what stays on its screen.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/tmux.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using namespace std::chrono_literals;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A terminal of 80 columns and 24 rows on which a shell runs outside of any sandbox.
class Screen {
 public:
  explicit Screen(const Ground& ground)
      : tmux_(ground.outside(), "cd " + ground.workspace() + " && env -i HOME=" + ground.home() +
                                    " PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" +
                                    " LC_ALL=C.UTF-8 PS1='outer> ' TERM=screen sh") {
    REQUIRE(Shows("outer>"));
  }

  void Type(const std::string& text) const { tmux_.Type(text); }
  void Press(const std::string& key) const { tmux_.Press(key); }
  void Enter(const std::string& line) const {
    Type(line);
    Press("Enter");
  }
  void Resize(int columns, int rows) const { tmux_.Resize(columns, rows); }
  [[nodiscard]] std::string Text() const { return tmux_.Screen(); }

  // Waits until the screen has `text`.
  [[nodiscard]] bool Shows(const std::string& text) const {
    const bool shown = tmux_.Shows(text);
    if (!shown) UNSCOPED_INFO("no '" << text << "' on the screen:\n" << Text());
    return shown;
  }

 private:
  const Tmux tmux_;
};

bool IsInstalled(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT
}

#define NEED_PROGRAM(name) \
  if (!IsInstalled("tmux") || !IsInstalled(name)) CORDON_SKIP(name, "it or tmux is not installed")

std::string Cordon(const Ground& ground, const std::string& rest) {
  return CordonProgram() + " run --quiet -w " + ground.workspace() + " --report " +
         ReportPath(ground) + " " + rest;
}

}  // namespace

TEST_CASE("an interactive shell has job control, its own terminal and the caller's size") {
  NEED_PROGRAM("bash");
  const Ground ground;
  const Screen screen(ground);
  screen.Enter(Cordon(ground, "-- env PS1=inner_ bash --norc --noprofile -i"));
  REQUIRE(screen.Shows("inner_"));
  screen.Enter("echo $((40+2)) $(tty) $(stty size)");
  CHECK(screen.Shows("42 /dev/pts/0 24 80"));
  screen.Enter("sh -c 'echo first-$((1+1)); exec sleep 1000'");
  CHECK(screen.Shows("first-2"));
  screen.Press("C-c");
  screen.Enter("echo code-$?");
  CHECK(screen.Shows("code-130"));
  screen.Enter("sh -c 'echo second-$((1+1)); exec sleep 1000'");
  CHECK(screen.Shows("second-2"));
  screen.Press("C-z");
  CHECK(screen.Shows("Stopped"));
  screen.Enter("kill %1; fg; echo end-$((6*7))");
  CHECK(screen.Shows("end-42"));
  screen.Resize(100, 30);
  // The news takes its time.
  screen.Enter("until [ \"$(stty size)\" = '30 100' ]; do sleep 0.1; done; echo now-$(stty size)");
  CHECK(screen.Shows("now-30 100"));
  screen.Enter("exit 7");
  // What is typed before the command has ended is the command's.
  CHECK(screen.Shows("exit\nouter>"));
  screen.Enter("echo outer-$?");
  CHECK(screen.Shows("outer-7"));
}

TEST_CASE("less pages a long text at a terminal") {
  NEED_PROGRAM("less");
  const Ground ground;
  std::string text;
  for (int i = 1; i <= 200; ++i) text += "line-" + std::to_string(i) + "\n";
  ground.MakeFile("long.txt", text);
  const Screen screen(ground);
  screen.Enter(Cordon(ground, "-- less long.txt"));
  REQUIRE(screen.Shows("line-23\n"));
  CHECK_FALSE(Has(screen.Text(), "line-30"));
  screen.Press("G");
  CHECK(screen.Shows("line-200"));
  CHECK(Has(screen.Text(), "line-180"));
  screen.Press("q");
  CHECK(screen.Shows("outer>"));
}

TEST_CASE("vim edits a file at a terminal") {
  NEED_PROGRAM("vim");
  const Ground ground;
  const Screen screen(ground);
  screen.Enter(Cordon(ground, "-- vim -u NONE -N text.txt"));
  REQUIRE(screen.Shows("text.txt"));
  screen.Press("i");
  CHECK(screen.Shows("INSERT"));
  screen.Type("written inside");
  screen.Press("Escape");
  screen.Enter(":wq");
  CHECK(screen.Shows("outer>"));
  CHECK(Contents(ground.PathOf("text.txt")) == "written inside\n");
}

TEST_CASE("top shows the processes of the sandbox at a terminal") {
  NEED_PROGRAM("top");
  const Ground ground;
  const Screen screen(ground);
  screen.Enter(Cordon(ground, "-- top -d 1"));
  REQUIRE(screen.Shows("load average"));
  CHECK(screen.Shows(" top"));
  // It has cleared the screen, so that the next prompt is there when the terminal is the shell's
  // again: what is typed before that is lost with top's mode.
  CHECK_FALSE(Has(screen.Text(), "outer>"));
  screen.Press("q");
  REQUIRE(screen.Shows("outer>"));
  screen.Enter("echo left-$?");
  CHECK(screen.Shows("left-0"));
}

TEST_CASE("an interactive python answers at a terminal and ends with its input") {
  NEED_PROGRAM("/usr/bin/python3");
  const Ground ground;
  const Screen screen(ground);
  screen.Enter(Cordon(ground, "-- /usr/bin/python3 -q"));
  REQUIRE(screen.Shows(">>>"));
  screen.Enter("6 * 7 * 1001");
  CHECK(screen.Shows("42042"));
  screen.Press("C-d");
  CHECK(screen.Shows("outer>"));
}

TEST_CASE("the caller's terminal is as it was after every end, and takes no input from inside") {
  NEED_PROGRAM("tmux");
  const Ground ground;
  const std::string file = ground.outside() + "/";
  const Screen screen(ground);
  const auto and_look = [&file](const std::string& name) {
    return "\nstty -g >" + file + name + "\n";
  };
  ground.MakeFile("ends.sh", and_look("before") + Cordon(ground, "-c 'stty raw -echo; exit 3'") +
                                 and_look("exited") +
                                 Cordon(ground, "--timeout 200ms -c 'stty raw; sleep 1000'") +
                                 and_look("timed") + Cordon(ground, "-- no-such-program") +
                                 and_look("missing") + "(sleep 0.5; kill -TERM $(cat " + file +
                                 "pid)) & sh -c 'echo $$ >" + file + "pid; exec " +
                                 Cordon(ground, "-- sleep 1000") + "'" + and_look("killed"));
  screen.Enter("sh ends.sh; echo all-$((1+1))");
  REQUIRE(screen.Shows("all-2"));
  const std::string before = Contents(file + "before");
  CHECK(before.size() > 10);
  for (const char* after : {"exited", "timed", "missing", "killed"}) {
    CAPTURE(after);
    CHECK(Contents(file + after) == before);
  }
  const std::string inject =
      "import fcntl, sys, termios\n"
      "for place in 0, 1, 2:\n"
      "  for c in \"echo INJECTED\\n\":\n"
      "    try: fcntl.ioctl(place, termios.TIOCSTI, c.encode())\n"
      "    except OSError as error: last = error.errno\n"
      "print(\"tried\", last)\n";
  ground.MakeFile("inject.py", inject);
  screen.Enter(Cordon(ground, "-- /usr/bin/python3 inject.py"));
  CHECK(screen.Shows("tried 1\n"));
  screen.Enter("echo then-$((2+3))");
  CHECK(screen.Shows("then-5"));
  CHECK_FALSE(Has(screen.Text(), "INJECTED"));
}

TEST_CASE("the caller's terminal is as it was also after cordon was killed") {
  NEED_PROGRAM("tmux");
  const Ground ground;
  const std::string file = ground.outside() + "/";
  const Screen screen(ground);
  ground.MakeFile("killed.sh", "tty >" + file + "tty\nstty -g >" + file + "before\n" +
                                   "sh -c 'echo $$ >" + file + "pid; exec " +
                                   Cordon(ground, "-c \"echo up; sleep 1000\"") + "'\n");
  screen.Enter("sh killed.sh; echo all-$((1+1))");
  REQUIRE(screen.Shows("up"));
  const auto mode = [&file] {
    const std::string command = "stty -g -F $(cat " + file + "tty) >" + file + "now";
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT(cert-env33-c)
    return Contents(file + "now");
  };
  const std::string before = Contents(file + "before");
  CHECK(mode() != before);  // The control.
  REQUIRE(kill(std::stoi(Contents(file + "pid")), SIGKILL) == 0);
  CHECK(screen.Shows("all-2"));
  CHECK(Within(20s, [&] { return mode() == before; }));
}

TEST_CASE("a terminal is given when asked for, and otherwise only at one") {
  const Ground ground;
  Expect(RunText(ground, {}, "test -t 0 || test -t 1 || echo none")).Status(0).OutIs("none\n");
  const CordonRun given = RunText(ground, {"--tty"}, "test -t 0 && test -t 1 && tty; exit 4");
  Expect(given).Status(4).Out("/dev/pts/0");
  RunOptions options;
  options.input = "typed\n";
  const CordonRun read =
      RunText(ground, {"--tty"}, "read x; echo got-$x; cat; echo ended", options);
  Expect(read).Status(0).Out("got-typed").Out("ended");
}

}  // namespace cordon::test
