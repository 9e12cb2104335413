#include "own_terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "cordon/sdk/unique_fd.h"
#include "raw_terminal.h"
#include "terminal_pause.h"
#include "tree_ending.h"

namespace cordon::cli {
namespace {

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

class Supervisor {
 public:
  Supervisor(Process& process, const SupervisionLimits& limits, TerminalPause& pause)
      : process_(process),
        limits_(limits),
        pause_(pause),
        ending_(process, limits.timeout),
        terminal_(process.TakeTerminal()),
        raw_(STDIN_FILENO) {
    pause_.Use(&raw_);
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&set, signal);
    signals_.Reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    FollowSize();  // It may have changed before anybody listened.
  }

  ~Supervisor() { pause_.Use(nullptr); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  absl::StatusOr<RunResult> Run() {
    while (!ending_.is_over()) Turn();
    pause_.Use(nullptr);
    for (int i = 0; i < kRestPieces && IsReadable(); ++i) ShowOutput();
    raw_.Restore();
    return ending_.Result();
  }

 private:
  void Turn() {
    // Keys wait while the terminal takes none, and the command while nobody takes what it shows.
    const bool keys_wait = !keys_.empty();
    const bool rests = pause_.is_on();
    pollfd entries[] = {
        {rests || input_ended_ || keys_wait ? -1 : STDIN_FILENO, POLLIN, 0},
        {rests ? -1 : terminal_.get(), static_cast<short>(POLLIN | (keys_wait ? POLLOUT : 0)), 0},
        {signals_.get(), POLLIN, 0},
        {process_.exit_fd(), POLLIN, 0},
        {pause_.fd(), POLLIN, 0}};
    if (::poll(entries, std::size(entries), ending_.MillisecondsLeft()) < 0) return;
    if (entries[3].revents != 0) ending_.TreeHasEnded();
    if (entries[2].revents != 0) TakeSignals();
    ending_.Advance();
    if (entries[4].revents != 0) pause_.Drain();
    // A key that came with the question is not the command's.
    if (const auto pass = pause_.Pass()) PassBoth(entries[0].revents, entries[1].revents);
  }

  void PassBoth(short input, short terminal) {
    if ((terminal & POLLIN) != 0) ShowOutput();
    // Hung up: the last process of the tree that had it open is gone.
    else if ((terminal & (POLLHUP | POLLERR)) != 0)
      terminal_.Reset();
    if ((terminal & POLLOUT) != 0) SendKeys();
    if (input != 0) TakeKeys();
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
      ending_.End(Outcome::Kind::kOutputLimit, ProcessSignal::kKill);
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
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGWINCH) {
        FollowSize();
      } else {
        ending_.EndBySignal(signal);
      }
    }
  }

  void FollowSize() {
    if (const auto size = SizeOf(STDIN_FILENO)) process_.Resize(*size).IgnoreError();
  }

  Process& process_;
  const SupervisionLimits& limits_;
  TerminalPause& pause_;
  TreeEnding ending_;
  UniqueFd terminal_;
  RawTerminal raw_;
  UniqueFd signals_;
  std::string keys_;  // Taken and not yet sent.
  std::uint64_t shown_ = 0;
  bool input_ended_ = false;
  bool output_ended_ = false;
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

absl::StatusOr<RunResult> SuperviseTerminal(Process& process, const SupervisionLimits& limits,
                                            TerminalPause& pause) {
  return Supervisor(process, limits, pause).Run();
}

}  // namespace cordon::cli
