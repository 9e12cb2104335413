// What a command starts with, and who holds its streams: descriptors, signal state, terminals.

#include <fcntl.h>
#include <signal.h>

#include <string>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"
#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using std::chrono::seconds;

TEST_CASE("descriptors that the caller left open do not reach a command") {
  const Ground ground;
  const std::string secret = ground.MakeFile(ground.outside() + "/secret", "CONFIDENTIAL");
  const std::string log = ground.MakeFile(ground.outside() + "/log", "");
  const UniqueFd to_read(open(secret.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd to_write(open(log.c_str(), O_WRONLY | O_CLOEXEC));
  const UniqueFd folder(open(ground.outside().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  RunOptions options;
  options.descriptors = {{to_read.get(), 7}, {to_write.get(), 8}, {folder.get(), 200}};
  const std::string act =
      "cat <&7; cat /proc/self/fd/200/secret; echo x >&8; ls -l /proc/[0-9]*/fd; echo finished";

  Child control({"/bin/bash", "-c", act}, InsideOptions(ground, options));
  CHECK(Has(control.Finish().out, "CONFIDENTIAL"));
  CHECK(ground.Read(log) == "x\n");

  ground.MakeFile(log, "");
  const CordonRun run = RunInside(ground, {"--", "/bin/bash", "-c", act}, options);
  Expect(run).Out("finished").NoOut("CONFIDENTIAL").NoOut(ground.outside());
  CHECK(ground.Read(log).empty());
  const CordonRun listed = RunInside(
      ground,
      {"--", "python3", "-c",
       "import os\nfor fd in range(256):\n try: os.fstat(fd); print(fd)\n except OSError: "
       "pass"},
      options);
  Expect(listed).Status(0).OutIs("0\n1\n2\n");
}

TEST_CASE("ignored and blocked signals of the caller do not reach a command") {
  const Ground ground;
  RunOptions options;
  options.ignored = {SIGPIPE, SIGHUP, SIGINT, SIGQUIT, SIGUSR1};
  options.blocked = {SIGTERM, SIGUSR2, SIGALRM, SIGCHLD};
  const Words look = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  Child control(look, InsideOptions(ground, options));
  CHECK_FALSE(Has(control.Finish().out, "SigIgn:\t0000000000000000"));
  Words inside = {"--"};
  inside.insert(inside.end(), look.begin(), look.end());
  Expect(RunInside(ground, inside, options))
      .Status(0)
      .OutIs("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("cordon works under a caller with odd signal settings") {
  const Ground ground;
  RunOptions ignoring;
  ignoring.ignored = {SIGCHLD, SIGALRM, SIGPIPE};
  Expect(RunText(ground, {}, "true; exit 7", ignoring)).Status(7);
  RunOptions blocking;
  blocking.blocked = {SIGTERM, SIGCHLD, SIGALRM};
  Expect(RunInside(ground, {"--timeout", "500ms", "--", "sleep", "20"}, blocking))
      .Status(124)
      .Below(seconds(6));
  const CordonRun pipeline = RunText(ground, {}, "yes | head -n 1; echo after", ignoring);
  Expect(pipeline).Status(0).OutIs("y\nafter\n").NoErr("roken");
}

TEST_CASE("a background process that holds the output does not hold the run") {
  const Ground ground;
  const std::string mark = SleepMark();
  for (const std::string& job :
       {"sleep " + mark + " &", "setsid sleep " + mark + " &",
        "(setsid sh -c 'sleep " + mark + " & sleep " + mark + "' &)",
        "(trap '' TERM HUP PIPE; sleep " + mark + ") &", std::string("mkfifo p; cat p &")}) {
    INFO(job);
    const CordonRun run = RunText(ground, {}, job + "\necho ended; rm -f p; exit 3");
    Expect(run).Status(3).OutIs("ended\n").Below(seconds(6));
  }
  CHECK(Within(seconds(3), [&] { return ProcessesWith(mark).empty(); }));
}

TEST_CASE("all that was written arrives although a background process still holds the output") {
  const Ground ground;
  const CordonRun run = RunText(ground, {}, "seq 1 50000; sleep 30 & exit 0");
  Expect(run).Status(0).Below(seconds(6));
  CHECK(run.out.size() == 288'894);
  Expect(RunInside(ground, {"--", "/bin/bash", "-c", "exec > >(tee copy) 2>&1; echo through"}))
      .Below(seconds(6));
}

constexpr const char* kPush = R"(
import fcntl, os
places = [0, 1, 2]
try:
    places.append(os.open("/dev/tty", os.O_RDWR))
except OSError:
    pass
for fd in places:
    for byte in b"#pushed":
        try:
            fcntl.ioctl(fd, 0x5412, bytes([byte]))
            print("WENT-IN")
        except OSError as error:
            print("refused", error.errno)
)";

struct OnTerminal {
  Ended ended;
  std::string typed;
};

OnTerminal RunOnTerminal(const Ground& ground, const Words& words) {
  ChildOptions options = InsideOptions(ground);
  options.on_terminal = true;
  Child child(words, options);
  OnTerminal result;
  result.ended = child.Finish();
  result.typed = child.PendingTerminalInput();
  return result;
}

TEST_CASE("the terminal of the caller gets no input from a command") {
  const Ground ground;
  ground.MakeFile("push.py", kPush);
  const OnTerminal control = RunOnTerminal(ground, {"python3", "push.py"});
  if (!Has(control.typed, "#pushed")) {
    CORDON_SKIP("tiocsti", "this host refuses TIOCSTI to everybody");
  }
  for (const Words& option : {Words{}, Words{"--tty"}, Words{"--no-tty"}}) {
    Words arguments = option;
    arguments.insert(arguments.end(), {"--", "python3", "push.py"});
    const OnTerminal run = RunOnTerminal(ground, InsideCommand(ground, arguments));
    INFO((option.empty() ? "" : option.front()) << "\n" << run.ended.out);
    CHECK(run.ended.status == 0);
    CHECK(Has(run.ended.out, "refused"));
    CHECK_FALSE(Has(run.ended.out, "WENT-IN"));
    CHECK_FALSE(Has(run.typed, "#pushed"));
  }
}

}  // namespace
}  // namespace cordon::test
