// Whole lines to a stream that somebody else reads, or does not.

#ifndef CORDON_TOOLS_CLI_SRC_LINE_WRITER_H_
#define CORDON_TOOLS_CLI_SRC_LINE_WRITER_H_

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "cordon/sdk/unique_fd.h"

namespace cordon::cli {

// Never makes a caller of `Write` wait: a thread of its own writes. What is waiting is bounded;
// once that is exceeded, or nobody can read any more, everything later is dropped. Safe from any
// thread. SIGPIPE must be ignored.
class LineWriter {
 public:
  static constexpr std::size_t kMaxWaitingBytes = std::size_t{64} << 20;

  explicit LineWriter(int fd, std::size_t max_waiting_bytes = kMaxWaitingBytes);  // Borrowed.
  // Waits for what is waiting, but not long for a reader that takes nothing.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Adds the newline.
  void Write(const std::string& line);

  // Readable once too much was waiting: a reader that lost lines is of no use any more.
  [[nodiscard]] int overflow_fd() const { return overflow_.get(); }

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  bool WriteAll(std::string_view text);
  bool WaitForRoom();
  [[nodiscard]] int MillisecondsLeft() const;
  [[nodiscard]] ssize_t WriteSome(std::string_view text) const;

  const int fd_;
  const std::size_t max_waiting_bytes_;
  UniqueFd overflow_;
  UniqueFd ending_;  // Readable once the destructor waits.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool dropping_ = false;
  bool done_ = false;
  std::optional<Clock::time_point> give_up_at_;  // Of the thread.
  std::thread thread_;                           // Last: uses all of the above.
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_LINE_WRITER_H_
