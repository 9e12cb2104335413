// The terminal that a question stands on: its mode, and reading and writing that end with a
// deadline or with a stop token.

#ifndef CORDON_GATE_SRC_TERMINAL_SCREEN_H_
#define CORDON_GATE_SRC_TERMINAL_SCREEN_H_

#include <termios.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

using SteadyTime = std::chrono::steady_clock::time_point;

// Sets a mode and puts the old one back, also from the background: with SIGTTOU blocked the kernel
// lets a background process change it (tcsetattr(3), POSIX.1-2017 11.1.4). `fd` is borrowed.
class TerminalMode {
 public:
  explicit TerminalMode(int fd);
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;
  ~TerminalMode();

  // Whether `fd` is a terminal.
  [[nodiscard]] bool valid() const { return valid_; }
  // Keys one by one, unseen. Ctrl-C is a key too: a signal would leave the mode behind.
  [[nodiscard]] bool SetKeys();
  // Lines with the terminal's own editing.
  [[nodiscard]] bool SetLines();

 private:
  bool Set(const termios& mode) const;

  int fd_;
  termios saved_{};
  bool valid_ = false;
};

// Readable once the stop token was triggered.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  struct Signal {
    int fd;
    void operator()() const;
  };
  UniqueFd fd_;
  std::stop_callback<Signal> callback_;
};

enum class Wait : std::uint8_t { kReady, kTimeout, kStopped };

// `fd` is borrowed and opened with O_NONBLOCK.
class Screen {
 public:
  Screen(int fd, const std::stop_token& stop) : fd_(fd), stop_(stop) {}

  // Until `events` of the terminal, `deadline` or cancellation.
  [[nodiscard]] Wait WaitFor(short events, SteadyTime deadline);
  // Whether all of `text` was written.
  [[nodiscard]] bool Show(std::string_view text, SteadyTime deadline);
  // A last word, also when the time is over or the question was withdrawn.
  bool ShowLast(std::string_view text) const;
  // What can be read at once; nothing when the terminal is gone.
  [[nodiscard]] std::optional<std::string> Read() const;

 private:
  int fd_;
  StopEvent stop_;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_TERMINAL_SCREEN_H_
