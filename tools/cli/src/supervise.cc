#include "supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "relay.h"
#include "terminal_pause.h"

namespace cordon::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t ForwardedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

UniqueFd Duplicate(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

int MillisecondsUntil(std::optional<Clock::time_point> when) {
  if (!when) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*when - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

class Supervisor {
 public:
  Supervisor(Process& process, const SupervisionLimits& limits, const TerminalPause& pause)
      : process_(process),
        limits_(limits),
        pause_(pause),
        input_(Duplicate(STDIN_FILENO), process.TakeStandardInput()),
        output_(process.TakeStandardOutput(), Duplicate(STDOUT_FILENO)),
        error_(process.TakeStandardError(), Duplicate(STDERR_FILENO)) {
    const sigset_t set = ForwardedSignals();
    signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (limits.timeout) deadline_ = Clock::now() + *limits.timeout;
  }

  absl::StatusOr<RunResult> Run() {
    while (!tree_ended_ || !output_.ended() || !error_.ended()) Turn();
    auto result = process_.Wait();
    if (!result.ok()) return result;
    if (ended_by_) result->outcome.kind = *ended_by_;
    return result;
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
    const bool passes = Passes();
    if (passes) {
      input_.Watch(&entries[kInput]);
      output_.Watch(&entries[kOutput]);
      error_.Watch(&entries[kError]);
    }
    entries[kPause] = {pause_.fd(), POLLIN, 0};
    entries[kSignals] = {signals_.get(), POLLIN, 0};
    entries[kExit] = {tree_ended_ ? -1 : process_.exit_fd(), POLLIN, 0};
    if (::poll(entries.data(), entries.size(), MillisecondsUntil(deadline_)) < 0) return;

    if (entries[kExit].revents != 0) {
      tree_ended_ = true;
      deadline_.reset();
    }
    if (entries[kSignals].revents != 0) ForwardSignals();
    if (deadline_ && Clock::now() >= *deadline_) {
      deadline_.reset();
      End(Outcome::Kind::kTimedOut, ProcessSignal::kTerminate);
    }
    if (entries[kPause].revents != 0) pause_.Drain();
    // A key that came with the question is not the command's.
    if (!passes || !Passes()) return;
    input_.Advance(&entries[kInput], std::numeric_limits<std::uint64_t>::max());
    Pass(output_, &entries[kOutput]);
    Pass(error_, &entries[kError]);
  }

  [[nodiscard]] bool Passes() const { return tree_ended_ || !pause_.is_on(); }

  void Pass(Relay& relay, const pollfd* entries) {
    const std::uint64_t room = limits_.max_output_bytes ? *limits_.max_output_bytes - passed_
                                                        : std::numeric_limits<std::uint64_t>::max();
    passed_ += relay.Advance(entries, room);
    if (relay.overflowed()) End(Outcome::Kind::kOutputLimit, ProcessSignal::kKill);
  }

  void ForwardSignals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      switch (static_cast<int>(info.ssi_signo)) {
        case SIGINT:
          End(Outcome::Kind::kCancelled, ProcessSignal::kInterrupt);
          break;
        default:
          End(Outcome::Kind::kCancelled, ProcessSignal::kTerminate);
      }
    }
  }

  // The first reason is the one that is reported.
  void End(Outcome::Kind reason, ProcessSignal signal) {
    if (tree_ended_) return;
    if (!ended_by_) ended_by_ = reason;
    process_.Signal(signal).IgnoreError();
  }

  Process& process_;
  const SupervisionLimits& limits_;
  const TerminalPause& pause_;
  Relay input_;
  Relay output_;
  Relay error_;
  UniqueFd signals_;
  std::optional<Clock::time_point> deadline_;
  std::optional<Outcome::Kind> ended_by_;
  std::uint64_t passed_ = 0;
  bool tree_ended_ = false;
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
