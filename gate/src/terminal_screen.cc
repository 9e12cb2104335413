#include "terminal_screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cordon::internal {

TerminalMode::TerminalMode(int fd) : fd_(fd) { valid_ = tcgetattr(fd, &saved_) == 0; }

TerminalMode::~TerminalMode() {
  if (valid_) Set(saved_);
}

bool TerminalMode::SetKeys() {
  termios mode = saved_;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  mode.c_iflag &= ~static_cast<tcflag_t>(IXON);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  return Set(mode);
}

bool TerminalMode::SetLines() {
  termios mode = saved_;
  mode.c_lflag |= ICANON | ECHO | ECHOE;
  mode.c_lflag &= ~static_cast<tcflag_t>(ISIG);
  return Set(mode);
}

bool TerminalMode::Set(const termios& mode) const {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const bool done = tcsetattr(fd_, TCSANOW, &mode) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return done;
}

StopEvent::StopEvent(const std::stop_token& stop)
    : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Signal{fd_.get()}) {}

void StopEvent::Signal::operator()() const {
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then it is readable already.
  [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
}

Wait Screen::WaitFor(short events, SteadyTime deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Wait::kTimeout;
    // Bounded, so that a far deadline does not overflow poll's int.
    const int timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
    pollfd fds[] = {{fd_, events, 0}, {stop_.fd(), POLLIN, 0}};
    const int ready = poll(fds, 2, timeout);
    if (ready < 0 && errno != EINTR) return Wait::kStopped;
    if (ready <= 0) continue;
    if (fds[1].revents != 0) return Wait::kStopped;
    return Wait::kReady;
  }
}

bool Screen::Show(std::string_view text, SteadyTime deadline) {
  while (!text.empty()) {
    if (WaitFor(POLLOUT, deadline) != Wait::kReady) return false;
    const ssize_t count = write(fd_, text.data(), text.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Screen::ShowLast(std::string_view text) const {
  pollfd fds[] = {{fd_, POLLOUT, 0}};
  if (poll(fds, 1, 100) <= 0) return false;
  return write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<std::string> Screen::Read() const {
  char buffer[256];
  ssize_t count = 0;
  do {
    count = read(fd_, buffer, sizeof buffer);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return "";
  if (count <= 0) return std::nullopt;
  return std::string(buffer, static_cast<std::size_t>(count));
}

}  // namespace cordon::internal
