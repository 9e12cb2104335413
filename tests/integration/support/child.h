// A program that a test starts: its streams are pipes (or a terminal of its own), it has a
// deadline, and it never outlives the test.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_CHILD_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_CHILD_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::test {

using Environment = std::map<std::string, std::string>;

struct ChildOptions {
  std::string directory;     // Where it starts; empty: here.
  Environment environment;   // All of it.
  bool on_terminal = false;  // The three streams are a new terminal, which is its controlling one.
  // Descriptors that it inherits: ours, and the number that it has there.
  std::vector<std::pair<int, int>> descriptors;
  // Signals that it starts with as ignored, and as blocked.
  std::vector<int> ignored;
  std::vector<int> blocked;
};

// How a child ended, with what it wrote until its streams were closed.
struct Ended {
  int status = -1;       // The exit status, 128+N for signal N, -1 when the deadline came first.
  bool in_time = false;  // It ended, and everybody closed its streams, before the deadline.
  std::string out;       // On a terminal: all that it showed.
  std::string err;
  std::chrono::milliseconds elapsed{0};  // From the start to the end of it and of its streams.
};

class Child {
 public:
  Child(std::vector<std::string> argv, const ChildOptions& options);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Kills it and waits for its end.
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // Writes to its input, up to the deadline; false when it does not take all of it.
  bool Write(std::string_view bytes, std::chrono::milliseconds limit = std::chrono::seconds(10));
  void CloseInput() { input_.Reset(); }

  // The next line of its output without the newline, false at the deadline or at the end.
  bool ReadLine(std::string& line, std::chrono::milliseconds limit);

  // Writes `input`, ends its input, collects its output and waits for its end.
  Ended Finish(std::string_view input = {},
               std::chrono::milliseconds limit = std::chrono::seconds(20));

  // On a terminal: the characters that are waiting in its input, as a program there would read
  // them. After the end.
  [[nodiscard]] std::string PendingTerminalInput() const;

 private:
  enum class Until { kLine, kEnd };

  // Reads what there is, and writes `unwritten`, until the condition holds; false at `end`.
  bool Pump(Until until, std::string_view& unwritten, std::chrono::steady_clock::time_point end);
  [[nodiscard]] bool StreamsEnded() const;
  void WriteSome(std::string_view& unwritten);
  void Reap();

  pid_t pid_ = -1;
  UniqueFd process_;  // pidfd
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd errors_;
  UniqueFd terminal_;  // The program's end, kept open so that its input can be looked at.
  std::string out_;
  std::string err_;
  std::chrono::steady_clock::time_point started_;
  bool reaped_ = false;
  int status_ = -1;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_CHILD_H_
