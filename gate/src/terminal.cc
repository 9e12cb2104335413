#include "terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "prompt.h"
#include "utf8.h"

namespace cordon::internal {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// The bytes of one key press, or of a paste, arrive within this time.
constexpr std::chrono::milliseconds kKeySettles{30};
constexpr std::size_t kMaxWords = 2000;

absl::Status NobodyThere(std::string_view why) {
  return MakeError(ErrorCode::kNoApprover,
                   "needs an approval, but nobody can be asked: " + std::string(why));
}

// Sets a mode and puts the old one back, also from the background: with SIGTTOU blocked the kernel
// lets a background process change it (tcsetattr(3), POSIX.1-2017 11.1.4).
class TerminalMode {
 public:
  explicit TerminalMode(int fd) : fd_(fd) { valid_ = tcgetattr(fd, &saved_) == 0; }
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;
  ~TerminalMode() {
    if (valid_) Set(saved_);
  }

  [[nodiscard]] bool valid() const { return valid_; }
  // Keys one by one, unseen. Ctrl-C is a key too: a signal would leave the mode behind.
  [[nodiscard]] bool SetKeys() {
    termios mode = saved_;
    mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    mode.c_iflag &= ~static_cast<tcflag_t>(IXON);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    return Set(mode);
  }
  // Lines with the terminal's own editing.
  [[nodiscard]] bool SetLines() {
    termios mode = saved_;
    mode.c_lflag |= ICANON | ECHO | ECHOE;
    mode.c_lflag &= ~static_cast<tcflag_t>(ISIG);
    return Set(mode);
  }

 private:
  bool Set(const termios& mode) const {
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const bool done = tcsetattr(fd_, TCSANOW, &mode) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return done;
  }

  int fd_;
  termios saved_{};
  bool valid_ = false;
};

// Readable once the stop token was triggered.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop)
      : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Signal{fd_.get()}) {}
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  struct Signal {
    int fd;
    void operator()() const {
      const std::uint64_t one = 1;
      // It fails only when the counter is full, and then it is readable already.
      [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
    }
  };
  UniqueFd fd_;
  std::stop_callback<Signal> callback_;
};

enum class Wait : std::uint8_t { kReady, kTimeout, kStopped };

class Screen {
 public:
  Screen(int fd, const std::stop_token& stop) : fd_(fd), stop_(stop) {}

  // Until `events` of the terminal, `deadline` or cancellation.
  [[nodiscard]] Wait WaitFor(short events, SteadyTime deadline) {
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

  [[nodiscard]] bool Show(std::string_view text, SteadyTime deadline) {
    while (!text.empty()) {
      if (WaitFor(POLLOUT, deadline) != Wait::kReady) return false;
      const ssize_t count = write(fd_, text.data(), text.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  // What can be read at once; nothing when the terminal is gone.
  [[nodiscard]] std::optional<std::string> Read() const {
    char buffer[256];
    ssize_t count = 0;
    do {
      count = read(fd_, buffer, sizeof buffer);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN) return "";
    if (count <= 0) return std::nullopt;
    return std::string(buffer, static_cast<std::size_t>(count));
  }

 private:
  int fd_;
  StopEvent stop_;
};

// One question on one terminal.
class Dialogue {
 public:
  Dialogue(int fd, const ApprovalCard& card, const TerminalPromptOptions& options,
           const std::stop_token& stop)
      : fd_(fd), card_(card), options_(options), stop_(stop), mode_(fd), screen_(fd, stop) {}

  absl::StatusOr<ApprovalAnswer> Run() {
    if (!mode_.valid() || !mode_.SetKeys()) return NobodyThere("this is not a terminal");
    tcflush(fd_, TCIFLUSH);
    if (!screen_.Show(RenderCard(card_, Style(), SecondsLeft()), card_.expires)) {
      return Failed("not all of the question could be shown");
    }
    if (absl::Status status = AwaitQuiet(); !status.ok()) return status;
    while (true) {
      absl::StatusOr<PromptChoice> choice = NextChoice();
      if (!choice.ok()) return choice.status();
      if (*choice == PromptChoice::kDenyWithWords) return AskForWords();
      if (!Say(ChoiceText(*choice))) return Failed("the terminal is gone");
      switch (*choice) {
        case PromptChoice::kNone:
        case PromptChoice::kDenyWithWords:
          continue;
        case PromptChoice::kDeny:
          return Answer(false, Remember::kOnce);
        case PromptChoice::kOnce:
          return Answer(true, Remember::kOnce);
        case PromptChoice::kSession:
          return Answer(true, Remember::kSession);
        case PromptChoice::kAlways:
          return Answer(true, Remember::kAlways);
        case PromptChoice::kInterrupt:
          return MakeError(ErrorCode::kCancelled, "interrupted at the question");
      }
    }
  }

 private:
  [[nodiscard]] PromptStyle Style() const {
    winsize size{};
    PromptStyle style;
    style.color = options_.color;
    if (ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.columns = size.ws_col;
    return style;
  }

  [[nodiscard]] std::chrono::seconds SecondsLeft() const {
    return std::chrono::ceil<std::chrono::seconds>(card_.expires -
                                                   std::chrono::steady_clock::now());
  }

  [[nodiscard]] ApprovalAnswer Answer(bool approved, Remember remember,
                                      std::string words = {}) const {
    return {approved, remember, std::move(words), card_.digest};
  }

  bool Say(std::string_view text) {
    return screen_.Show("  " + std::string(text) + "\n", card_.expires);
  }

  // The reason behind a write that did not succeed.
  absl::Status Failed(std::string_view otherwise) {
    if (stop_.stop_requested()) return Ended(Wait::kStopped);
    if (std::chrono::steady_clock::now() >= card_.expires) return Ended(Wait::kTimeout);
    return NobodyThere(otherwise);
  }

  absl::Status Ended(Wait wait) {
    if (wait == Wait::kTimeout) {
      (void)screen_.Show("  no answer in time\n",
                         std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
      return MakeError(ErrorCode::kApprovalTimedOut, "nobody answered in time");
    }
    return MakeError(ErrorCode::kCancelled, "cancelled while a person was asked");
  }

  // Throws away what is typed until nothing came for the guard interval.
  absl::Status AwaitQuiet() {
    while (true) {
      const SteadyTime quiet = std::chrono::steady_clock::now() + options_.guard;
      const Wait wait = screen_.WaitFor(POLLIN, std::min(quiet, card_.expires));
      if (wait == Wait::kStopped) return Ended(wait);
      if (wait == Wait::kTimeout) {
        return quiet < card_.expires ? absl::OkStatus() : Ended(Wait::kTimeout);
      }
      if (!screen_.Read().has_value()) return NobodyThere("the terminal is gone");
    }
  }

  absl::StatusOr<PromptChoice> NextChoice() {
    Wait wait = screen_.WaitFor(POLLIN, card_.expires);
    if (wait != Wait::kReady) return Ended(wait);
    std::optional<std::string> keys = screen_.Read();
    if (!keys.has_value()) return NobodyThere("the terminal is gone");
    while (true) {
      const SteadyTime settled = std::chrono::steady_clock::now() + kKeySettles;
      wait = screen_.WaitFor(POLLIN, std::min(settled, card_.expires));
      if (wait == Wait::kStopped) return Ended(wait);
      if (wait == Wait::kTimeout) return ReadKey(*keys, card_);
      const std::optional<std::string> more = screen_.Read();
      if (!more.has_value()) return NobodyThere("the terminal is gone");
      if (keys->size() < 8) *keys += *more;  // Enough to know that it is no single key.
    }
  }

  absl::StatusOr<ApprovalAnswer> AskForWords() {
    if (!mode_.SetLines() || !Say("say why, then Enter:")) {
      return Failed("the terminal is gone");
    }
    std::string words;
    while (words.find('\n') == std::string::npos && words.size() < kMaxWords) {
      const Wait wait = screen_.WaitFor(POLLIN, card_.expires);
      if (wait != Wait::kReady) return Ended(wait);
      const std::optional<std::string> more = screen_.Read();
      if (!more.has_value()) return NobodyThere("the terminal is gone");
      words += *more;
    }
    words = words.substr(0, words.find('\n'));
    (void)Say(ChoiceText(PromptChoice::kDenyWithWords));
    return Answer(false, Remember::kOnce, ReplaceInvalidUtf8(words));
  }

  int fd_;
  const ApprovalCard& card_;
  const TerminalPromptOptions options_;
  const std::stop_token stop_;
  TerminalMode mode_;
  Screen screen_;
};

}  // namespace

absl::StatusOr<ApprovalAnswer> AskOnTerminal(int fd, const ApprovalCard& card,
                                             const TerminalPromptOptions& options,
                                             const std::stop_token& stop) {
  return Dialogue(fd, card, options, stop).Run();
}

}  // namespace cordon::internal
