#include "own_terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/status.h"

namespace cordon::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TerminalSize kUsualSize{24, 80};
constexpr std::size_t kPieceBytes = 4096;
// For what is still in the terminal when the tree has ended.
constexpr int kRestPieces = 1024;

std::optional<TerminalSize> SizeOf(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_row == 0 || size.ws_col == 0) return kUsualSize;
  return TerminalSize{size.ws_row, size.ws_col};
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

int MillisecondsUntil(std::optional<Clock::time_point> when) {
  if (!when) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*when - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

class Supervisor {
 public:
  Supervisor(Process& process, const SupervisionLimits& limits)
      : process_(process), limits_(limits), terminal_(process.TakeTerminal()), raw_(STDIN_FILENO) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, signal);
    signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (limits.timeout) deadline_ = Clock::now() + *limits.timeout;
    FollowSize();  // It may have changed before anybody listened.
  }

  absl::StatusOr<RunResult> Run() {
    while (!tree_ended_) Turn();
    for (int i = 0; i < kRestPieces && IsReadable(); ++i) ShowOutput();
    raw_.Restore();
    auto result = process_.Wait();
    if (result.ok() && ended_by_) result->outcome.kind = *ended_by_;
    return result;
  }

 private:
  void Turn() {
    // Keys wait while the terminal takes none, and the command while nobody takes what it shows.
    const bool keys_wait = !keys_.empty();
    pollfd entries[] = {
        {input_ended_ || keys_wait ? -1 : STDIN_FILENO, POLLIN, 0},
        {terminal_.get(), static_cast<short>(POLLIN | (keys_wait ? POLLOUT : 0)), 0},
        {signals_.get(), POLLIN, 0},
        {process_.exit_fd(), POLLIN, 0}};
    if (::poll(entries, std::size(entries), MillisecondsUntil(deadline_)) < 0) return;
    if (entries[3].revents != 0) tree_ended_ = true;
    if (entries[2].revents != 0) TakeSignals();
    if (deadline_ && Clock::now() >= *deadline_) {
      deadline_.reset();
      End(Outcome::Kind::kTimedOut, ProcessSignal::kTerminate);
    }
    if ((entries[1].revents & POLLIN) != 0) ShowOutput();
    // Hung up: the last process of the tree that had it open is gone.
    else if ((entries[1].revents & (POLLHUP | POLLERR)) != 0)
      terminal_.Reset();
    if ((entries[1].revents & POLLOUT) != 0) SendKeys();
    if (entries[0].revents != 0) TakeKeys();
  }

  [[nodiscard]] bool IsReadable() const {
    pollfd entry{terminal_.get(), POLLIN, 0};
    return terminal_.valid() && ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0;
  }

  void ShowOutput() {
    std::array<char, kPieceBytes> piece;
    const ssize_t got = ::read(terminal_.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      terminal_.Reset();
      return;
    }
    const std::uint64_t room = limits_.max_output_bytes ? *limits_.max_output_bytes - shown_
                                                        : std::numeric_limits<std::uint64_t>::max();
    const auto fits = static_cast<std::size_t>(std::min<std::uint64_t>(room, got));
    shown_ += fits;
    if (!output_ended_ && !WriteAll(STDOUT_FILENO, {piece.data(), fits})) output_ended_ = true;
    if (fits < static_cast<std::size_t>(got))
      End(Outcome::Kind::kOutputLimit, ProcessSignal::kKill);
  }

  void TakeKeys() {
    std::array<char, kPieceBytes> piece;
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) return;
    if (got > 0) {
      keys_.assign(piece.data(), static_cast<std::size_t>(got));
    } else {
      input_ended_ = true;
      keys_ = "\x04";  // What a terminal takes for the end of the input (VEOF).
    }
    SendKeys();
  }

  // One byte at a time is never more than a terminal with room takes; it is small and rare anyway.
  void SendKeys() {
    while (!keys_.empty()) {
      pollfd entry{terminal_.get(), POLLOUT, 0};
      if (!terminal_.valid()) return keys_.clear();
      if (::poll(&entry, 1, 0) <= 0 || (entry.revents & POLLOUT) == 0) return;
      const ssize_t sent =
          ::write(terminal_.get(), keys_.data(), std::min<std::size_t>(keys_.size(), 64));
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent <= 0) return keys_.clear();
      keys_.erase(0, static_cast<std::size_t>(sent));
    }
  }

  void TakeSignals() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      switch (static_cast<int>(info.ssi_signo)) {
        case SIGWINCH:
          FollowSize();
          break;
        case SIGINT:
          End(Outcome::Kind::kCancelled, ProcessSignal::kInterrupt);
          break;
        default:
          End(Outcome::Kind::kCancelled, ProcessSignal::kTerminate);
      }
    }
  }

  void FollowSize() {
    if (const auto size = SizeOf(STDIN_FILENO)) process_.Resize(*size).IgnoreError();
  }

  // The first reason is the one that is reported.
  void End(Outcome::Kind reason, ProcessSignal signal) {
    if (tree_ended_) return;
    if (!ended_by_) ended_by_ = reason;
    process_.Signal(signal).IgnoreError();
  }

  Process& process_;
  const SupervisionLimits& limits_;
  UniqueFd terminal_;
  RawTerminal raw_;
  UniqueFd signals_;
  std::optional<Clock::time_point> deadline_;
  std::optional<Outcome::Kind> ended_by_;
  std::string keys_;  // Taken and not yet sent.
  std::uint64_t shown_ = 0;
  bool input_ended_ = false;
  bool output_ended_ = false;
  bool tree_ended_ = false;
};

}  // namespace

std::optional<TerminalSize> ChooseTerminal(TerminalChoice choice) {
  const bool at_terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  switch (choice) {
    case TerminalChoice::kNever:
      return std::nullopt;
    case TerminalChoice::kWhenAtTerminal:
      if (!at_terminal) return std::nullopt;
      break;
    case TerminalChoice::kAlways:
      break;
  }
  return SizeOf(STDIN_FILENO).value_or(SizeOf(STDOUT_FILENO).value_or(kUsualSize));
}

absl::StatusOr<RunResult> SuperviseTerminal(Process& process, const SupervisionLimits& limits) {
  return Supervisor(process, limits).Run();
}

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  termios now{};
  if (::tcgetattr(fd_, &now) != 0) return;
  termios raw = now;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd_, TCSADRAIN, &raw) == 0) before_ = now;
}

void RawTerminal::Restore() {
  // From the background, too: SIGTTOU would stop this process here.
  if (!before_) return;
  sigset_t output;
  sigset_t mask;
  sigemptyset(&output);
  sigaddset(&output, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &output, &mask);
  ::tcsetattr(fd_, TCSADRAIN, &*before_);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  before_.reset();
}

}  // namespace cordon::cli
