// `cordon run` at a terminal: real programs, driven through tmux, and what stays on its screen.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
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
  explicit Screen(const Ground& ground) : ground_(ground), socket_(ground.outside() + "/tmux") {
    const std::string shell = "env -i HOME=" + ground.home() + " PATH=" + Path() +
                              " LC_ALL=C.UTF-8 PS1='outer> ' TERM=screen sh";
    Tmux("-f /dev/null new-session -d -x 80 -y 24 -c " + ground.workspace() + " \"" + shell + "\"");
    REQUIRE(Shows("outer>"));
  }
  ~Screen() { Tmux("kill-server"); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void Type(const std::string& text) {
    std::string quoted;
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    Tmux("send-keys -l '" + quoted + "'");
  }
  void Press(const std::string& keys) { Tmux("send-keys " + keys); }
  void Enter(const std::string& line) {
    Type(line);
    Press("Enter");
  }
  void Resize(int columns, int rows) {
    Tmux("resize-window -x " + std::to_string(columns) + " -y " + std::to_string(rows));
  }

  [[nodiscard]] std::string Text() {
    const std::string file = ground_.outside() + "/screen";
    Tmux("capture-pane -p > " + file);
    return Contents(file);
  }

  // Waits until the screen has `text`.
  [[nodiscard]] bool Shows(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    std::string screen;
    while (std::chrono::steady_clock::now() < deadline) {
      screen = Text();
      if (Has(screen, text)) return true;
      std::this_thread::sleep_for(20ms);  // tmux tells nobody what is on its screen.
    }
    UNSCOPED_INFO("no '" << text << "' on the screen:\n" << screen);
    return false;
  }

 private:
  static std::string Path() { return "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"; }

  void Tmux(const std::string& arguments) {
    const std::string command =
        "env -u TMUX LC_ALL=C.UTF-8 SHELL=/bin/sh tmux -S " + socket_ + " " + arguments;
    // What is on the screen tells more than the status.
    const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): the test's own text.
    static_cast<void>(status);
  }

  const Ground& ground_;
  const std::string socket_;
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
  Screen screen(ground);
  screen.Enter(Cordon(ground, "-- env PS1=inner_ bash --norc --noprofile -i"));
  REQUIRE(screen.Shows("inner_"));
  screen.Enter("echo $((40+2)) $(tty) $(stty size)");
  CHECK(screen.Shows("42 /dev/pts/0 24 80"));
  screen.Enter("sleep 1000");
  screen.Press("C-c");
  screen.Enter("echo code-$?");
  CHECK(screen.Shows("code-130"));
  screen.Enter("sleep 1000");
  screen.Press("C-z");
  CHECK(screen.Shows("Stopped"));
  screen.Enter("kill %1; fg; echo end-$((6*7))");
  CHECK(screen.Shows("end-42"));
  screen.Resize(100, 30);
  // The news takes its time.
  screen.Enter("until [ \"$(stty size)\" = '30 100' ]; do sleep 0.1; done; echo now-$(stty size)");
  CHECK(screen.Shows("now-30 100"));
  screen.Enter("exit 7");
  CHECK(screen.Shows("outer>"));
  screen.Enter("echo outer-$?");
  CHECK(screen.Shows("outer-7"));
}

TEST_CASE("less pages a long text at a terminal") {
  NEED_PROGRAM("less");
  const Ground ground;
  std::string text;
  for (int i = 1; i <= 200; ++i) text += "line-" + std::to_string(i) + "\n";
  ground.MakeFile("long.txt", text);
  Screen screen(ground);
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
  Screen screen(ground);
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
  Screen screen(ground);
  screen.Enter(Cordon(ground, "-- top -d 1"));
  CHECK(screen.Shows("load average"));
  CHECK(screen.Shows(" top"));
  screen.Press("q");
  screen.Enter("echo left-$?");
  CHECK(screen.Shows("left-0"));
}

TEST_CASE("an interactive python answers at a terminal and ends with its input") {
  NEED_PROGRAM("/usr/bin/python3");
  const Ground ground;
  Screen screen(ground);
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
  Screen screen(ground);
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
