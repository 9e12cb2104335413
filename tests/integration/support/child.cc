#include "integration/support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "integration/support/waiting.h"
#include "support/catch.h"

namespace cordon::test {
namespace {

using Clock = std::chrono::steady_clock;

// The ends of the three streams: ours and the child's.
struct Streams {
  UniqueFd input, output, errors;
  UniqueFd child_input, child_output, child_errors;
};

void MakePipe(UniqueFd& read_end, UniqueFd& write_end) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  read_end.Reset(ends[0]);
  write_end.Reset(ends[1]);
}

UniqueFd Duplicate(const UniqueFd& fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)); }

Streams MakePipes() {
  // A program that stops reading is no reason for this one to end.
  signal(SIGPIPE, SIG_IGN);
  Streams streams;
  MakePipe(streams.child_input, streams.input);
  MakePipe(streams.output, streams.child_output);
  MakePipe(streams.errors, streams.child_errors);
  return streams;
}

Streams MakeTerminal() {
  winsize size{};
  size.ws_row = 33;
  size.ws_col = 99;
  int master = -1;
  int slave = -1;
  REQUIRE(openpty(&master, &slave, nullptr, nullptr, &size) == 0);
  fcntl(master, F_SETFD, FD_CLOEXEC);
  fcntl(slave, F_SETFD, FD_CLOEXEC);
  Streams streams;
  streams.input.Reset(master);
  streams.output = Duplicate(streams.input);
  streams.child_input.Reset(slave);
  streams.child_output = Duplicate(streams.child_input);
  streams.child_errors = Duplicate(streams.child_input);
  return streams;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void SetSignals(const ChildOptions& options) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < 32; ++number) signal(number, SIG_DFL);
  for (const int number : options.ignored) signal(number, SIG_IGN);
  for (const int number : options.blocked) sigaddset(&none, number);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

constexpr int kHighDescriptor = 400;

// In the child. `at` are its ends of the streams.
[[noreturn]] void Become(const Streams& at, const ChildOptions& options, char* const* argv,
                         char* const* environment) {
  if (options.on_terminal) {
    setsid();
    ioctl(at.child_input.get(), TIOCSCTTY, 0);
  }
  dup2(at.child_input.get(), 0);
  dup2(at.child_output.get(), 1);
  dup2(at.child_errors.get(), 2);
  // By way of high numbers, since one of them may be where another one has to go.
  int high = kHighDescriptor;
  for (const auto& [ours, theirs] : options.descriptors) dup3(ours, high++, O_CLOEXEC);
  high = kHighDescriptor;
  for (const auto& [ours, theirs] : options.descriptors) dup2(high++, theirs);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(120);
  SetSignals(options);
  execvpe(argv[0], argv, environment);
  _exit(121);
}

}  // namespace

Child::Child(std::vector<std::string> argv, const ChildOptions& options) : started_(Clock::now()) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> environment_pointers = Pointers(variables);
  Streams streams = options.on_terminal ? MakeTerminal() : MakePipes();

  UniqueFd executed;
  UniqueFd not_executed;
  MakePipe(executed, not_executed);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) Become(streams, options, argv_pointers.data(), environment_pointers.data());
  process_.Reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  REQUIRE(process_.valid());
  // Closed by the exec, so that whoever looks at the process next sees the program.
  not_executed.Reset();
  pollfd closed = {executed.get(), POLLIN, 0};
  REQUIRE(poll(&closed, 1, 20'000) == 1);
  input_ = std::move(streams.input);
  output_ = std::move(streams.output);
  errors_ = std::move(streams.errors);
  if (options.on_terminal) terminal_ = std::move(streams.child_input);
}

Child::~Child() {
  if (!reaped_) {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Child::Signal(int signal) const {
  if (!reaped_) kill(pid_, signal);
}

bool Child::StreamsEnded() const {
  // A terminal stays open as long as we hold it.
  return terminal_.valid() || (!output_.valid() && !errors_.valid());
}

void Child::Reap() {
  int raw = 0;
  if (reaped_ || waitpid(pid_, &raw, WNOHANG) != pid_) return;
  reaped_ = true;
  status_ = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

void Child::WriteSome(std::string_view& unwritten) {
  fcntl(input_.get(), F_SETFL, O_NONBLOCK);
  const ssize_t count = write(input_.get(), unwritten.data(), unwritten.size());
  if (count >= 0) {
    unwritten.remove_prefix(static_cast<std::size_t>(count));
  } else if (errno != EAGAIN && errno != EINTR) {
    unwritten = {};
    input_.Reset();
  }
}

namespace {

// Appends what there is; closes the stream at its end.
bool ReadSome(UniqueFd& fd, std::string& to) {
  char buffer[65536];
  const ssize_t count = read(fd.get(), buffer, sizeof buffer);
  if (count > 0) {
    to.append(buffer, static_cast<std::size_t>(count));
    return true;
  }
  if (count == 0 || (errno != EINTR && errno != EAGAIN)) fd.Reset();
  return false;
}

}  // namespace

bool Child::Pump(Until until, std::string_view& unwritten, Clock::time_point end) {
  while (true) {
    if (until == Until::kLine && out_.find('\n') != std::string::npos) return true;
    if (until == Until::kEnd && reaped_ && StreamsEnded()) return true;
    if (until == Until::kLine && !output_.valid()) return false;
    if (until == Until::kEnd && unwritten.empty() && !terminal_.valid()) CloseInput();
    pollfd entries[] = {{output_.get(), POLLIN, 0},
                        {errors_.get(), POLLIN, 0},
                        {reaped_ ? -1 : process_.get(), POLLIN, 0},
                        {unwritten.empty() ? -1 : input_.get(), POLLOUT, 0}};
    const int ready = poll(entries, 4, MillisecondsUntil(end));
    if (ready == 0) return false;
    if (ready < 0) continue;
    if (entries[0].revents != 0) ReadSome(output_, out_);
    if (entries[1].revents != 0) ReadSome(errors_, err_);
    if (entries[2].revents != 0) Reap();
    if (entries[3].revents != 0) WriteSome(unwritten);
  }
}

bool Child::Write(std::string_view bytes, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  while (!bytes.empty() && input_.valid()) {
    pollfd entry{input_.get(), POLLOUT, 0};
    if (poll(&entry, 1, MillisecondsUntil(end)) == 0) return false;
    WriteSome(bytes);
  }
  return input_.valid();
}

bool Child::ReadLine(std::string& line, std::chrono::milliseconds limit) {
  std::string_view nothing;
  if (!Pump(Until::kLine, nothing, Clock::now() + limit)) return false;
  const std::size_t length = out_.find('\n');
  line = out_.substr(0, length);
  out_.erase(0, length + 1);
  return true;
}

Ended Child::Finish(std::string_view input, std::chrono::milliseconds limit) {
  const auto end = Clock::now() + limit;
  std::string_view unwritten = input;
  const bool in_time = Pump(Until::kEnd, unwritten, end);
  while (terminal_.valid() && output_.valid()) {  // What it wrote last.
    pollfd entry{output_.get(), POLLIN, 0};
    if (poll(&entry, 1, 0) != 1 || !ReadSome(output_, out_)) break;
  }

  Ended ended;
  ended.in_time = in_time;
  ended.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started_);
  ended.status = reaped_ ? status_ : -1;
  ended.out = std::move(out_);
  ended.err = std::move(err_);
  return ended;
}

std::string Child::PendingTerminalInput() const {
  termios mode{};
  if (tcgetattr(terminal_.get(), &mode) != 0) return "cannot look at the terminal";
  cfmakeraw(&mode);
  mode.c_cc[VMIN] = 0;
  mode.c_cc[VTIME] = 0;
  tcsetattr(terminal_.get(), TCSANOW, &mode);
  char buffer[4096];
  const ssize_t count = read(terminal_.get(), buffer, sizeof buffer);
  return {buffer, static_cast<std::size_t>(count > 0 ? count : 0)};
}

}  // namespace cordon::test
