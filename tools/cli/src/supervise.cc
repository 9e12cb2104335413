#include "supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <utility>

#include "cordon/sdk/unique_fd.h"
#include "relay.h"
#include "terminal_pause.h"
#include "tree_ending.h"

namespace cordon::cli {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t ForwardedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

UniqueFd Duplicate(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

class Supervisor {
 public:
  Supervisor(Process& process, const SupervisionLimits& limits, const TerminalPause& pause)
      : process_(process),
        limits_(limits),
        pause_(pause),
        ending_(process, limits.timeout),
        input_(Duplicate(STDIN_FILENO), process.TakeStandardInput()),
        output_(process.TakeStandardOutput(), Duplicate(STDOUT_FILENO)),
        error_(process.TakeStandardError(), Duplicate(STDERR_FILENO)) {
    const sigset_t set = ForwardedSignals();
    signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  absl::StatusOr<RunResult> Run() {
    // What a tree that was given up holds open does not end either.
    while (!ending_.gave_up() && !(ending_.is_over() && output_.ended() && error_.ended())) Turn();
    return ending_.Result();
  }

 private:
  // The places of the poll set; each relay has two.
  enum Place : std::size_t {
    kInput = 0,
    kOutput = 2,
    kError = 4,
    kSignals = 6,
    kExit = 7,
    kPause = 8,
    kCount
  };

  void Turn() {
    std::array<pollfd, kCount> entries{};
    for (pollfd& entry : entries) entry.fd = -1;
    if (ending_.is_over() || !pause_.is_on()) {
      input_.Watch(&entries[kInput]);
      output_.Watch(&entries[kOutput]);
      error_.Watch(&entries[kError]);
    }
    entries[kPause] = {pause_.fd(), POLLIN, 0};
    entries[kSignals] = {signals_.get(), POLLIN, 0};
    entries[kExit] = {ending_.is_over() ? -1 : process_.exit_fd(), POLLIN, 0};
    if (::poll(entries.data(), entries.size(), ending_.MillisecondsLeft()) < 0) return;

    if (entries[kExit].revents != 0) ending_.TreeHasEnded();
    if (entries[kSignals].revents != 0) ForwardSignals();
    ending_.Advance();
    if (entries[kPause].revents != 0) pause_.Drain();
    // A key that came with the question is not the command's.
    const auto pass = pause_.Pass();
    if (!pass && !ending_.is_over()) return;
    input_.Advance(&entries[kInput], std::numeric_limits<std::uint64_t>::max());
    Pass(output_, &entries[kOutput]);
    Pass(error_, &entries[kError]);
  }

  void Pass(Relay& relay, const pollfd* entries) {
    const std::uint64_t room = limits_.max_output_bytes ? *limits_.max_output_bytes - passed_
                                                        : std::numeric_limits<std::uint64_t>::max();
    passed_ += relay.Advance(entries, room);
    if (relay.overflowed()) ending_.End(Outcome::Kind::kOutputLimit, ProcessSignal::kKill);
  }

  void ForwardSignals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      ending_.EndBySignal(static_cast<int>(info.ssi_signo));
    }
  }

  Process& process_;
  const SupervisionLimits& limits_;
  const TerminalPause& pause_;
  TreeEnding ending_;
  Relay input_;
  Relay output_;
  Relay error_;
  UniqueFd signals_;
  std::uint64_t passed_ = 0;
};

}  // namespace

void PrepareSignals() {
  sigset_t set = ForwardedSignals();
  // Else a thread that does not block it would take it, and ignore it.
  sigaddset(&set, SIGWINCH);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

StreamOption StandardInputOption() {
  struct stat info {};
  if (::fstat(STDIN_FILENO, &info) != 0 || S_ISDIR(info.st_mode)) return {};
  if (::isatty(STDIN_FILENO) != 0) return {StreamOption::Kind::kPipe, -1};
  return {StreamOption::Kind::kFd, STDIN_FILENO};
}

absl::StatusOr<RunResult> Supervise(Process& process, const SupervisionLimits& limits,
                                    const TerminalPause& pause) {
  return Supervisor(process, limits, pause).Run();
}

}  // namespace cordon::cli
