#include "raw_terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace cordon::cli {
namespace {

bool IsSame(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
         a.c_lflag == b.c_lflag && std::equal(std::begin(a.c_cc), std::end(a.c_cc), b.c_cc);
}

void CloseRange(unsigned first, unsigned last) { ::syscall(SYS_close_range, first, last, 0); }

// In a copy of a program with threads: only what may be called in a signal handler.
[[noreturn]] void WaitAndRestore(int alive, int terminal, const termios& before,
                                 const termios& raw) {
  // A session of its own: no signal for the program's group reaches it, and the kernel does not
  // count it to the terminal's background, which may not set modes (tty_ioctl(4)).
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  if (::dup2(alive, 0) < 0 || ::dup2(terminal, 1) < 0) ::_exit(1);
  CloseRange(2, ~0U);
  ssize_t size = 0;
  char byte = 0;
  do {
    size = ::read(0, &byte, 1);
  } while (size < 0 && errno == EINTR);
  termios now{};
  // A shell may have set its own mode by now, which is none of this program's business.
  if (size == 0 && ::tcgetattr(1, &now) == 0 && IsSame(now, raw)) {
    ::tcsetattr(1, TCSANOW, &before);
  }
  ::_exit(0);
}

}  // namespace

TerminalRescue::TerminalRescue(int terminal, const termios& before, const termios& raw) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  // Above what the child moves them to.
  const UniqueFd reader(::fcntl(ends[0], F_DUPFD_CLOEXEC, 3));
  const UniqueFd copy(::fcntl(terminal, F_DUPFD_CLOEXEC, 3));
  ::close(ends[0]);
  alive_.Reset(ends[1]);
  if (!reader.valid() || !copy.valid()) return;
  child_ = ::fork();
  if (child_ == 0) WaitAndRestore(reader.get(), copy.get(), before, raw);
}

TerminalRescue::~TerminalRescue() {
  if (child_ < 0) return;
  const char byte = 0;
  [[maybe_unused]] const ssize_t told = ::write(alive_.get(), &byte, 1);
  alive_.Reset();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

RawTerminal::RawTerminal(int fd) : fd_(fd) {
  termios now{};
  if (::tcgetattr(fd_, &now) != 0) return;
  raw_ = now;
  ::cfmakeraw(&raw_);
  if (::tcsetattr(fd_, TCSADRAIN, &raw_) != 0) return;
  before_ = now;
  // As the kernel has taken it.
  ::tcgetattr(fd_, &raw_);
  rescue_.emplace(fd_, *before_, raw_);
}

void RawTerminal::Restore() {
  if (!before_) return;
  Set(*before_);
  rescue_.reset();
  before_.reset();
}

void RawTerminal::Suspend() {
  if (before_) Set(*before_);
}

void RawTerminal::Resume() {
  if (before_) Set(raw_);
}

void RawTerminal::Set(const termios& mode) const {
  // From the background, too: SIGTTOU would stop this process here.
  sigset_t output;
  sigset_t mask;
  sigemptyset(&output);
  sigaddset(&output, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &output, &mask);
  ::tcsetattr(fd_, TCSADRAIN, &mode);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace cordon::cli
