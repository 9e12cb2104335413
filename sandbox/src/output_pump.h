// Reads what a running command writes, on the calling thread, until its tree has ended, and applies
// the limits of time and output on the way. Used by one thread.

#ifndef CORDON_SANDBOX_SRC_OUTPUT_PUMP_H_
#define CORDON_SANDBOX_SRC_OUTPUT_PUMP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "capture.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/unique_fd.h"
#include "execution.h"

namespace cordon::internal {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

// Both ends O_CLOEXEC. Returns kInternal with the errno.
[[nodiscard]] absl::StatusOr<Pipe> MakePipe();

class OutputPump {
 public:
  // Makes everything that can fail before the command starts. Of `options` it does not use
  // `execution_id` and `grants`. Returns kInvalidOption for a spool that is no regular file.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OutputPump>> Create(
      const RunOptions& options);

  // The command's ends, to be handed over.
  [[nodiscard]] int standard_output() const { return streams_[0].pipe.writer.get(); }
  [[nodiscard]] int standard_error() const {
    return streams_[is_merged_ ? 0 : 1].pipe.writer.get();
  }

  // Returns once the whole tree has ended, with what the pipes held; never waits for the end of a
  // pipe. A tree that does not end although everything was done to end it is left to the execution
  // (`Execution::Quarantine`). Errors are those of `Execution::Wait`. Once.
  [[nodiscard]] absl::StatusOr<RunResult> Run(Execution& execution);

 private:
  struct Stream {
    Pipe pipe;
    OutputCapture capture;
    int spool = -1;  // Borrowed; off after the last byte that it gets.
    std::uint64_t spooled_bytes = 0;
    bool is_roomy = false;  // It was made larger, or is not to be.
  };
  struct Raise {
    int fd;
    void operator()() const;
  };

  OutputPump(const RunOptions& options, Pipe standard_output, Pipe standard_error, UniqueFd stop);

  void WaitForOneThing(Execution& execution);
  void SetTimeLimit(SteadyTime from);
  void OnChannel(Execution& execution);
  void OnDeadline(Execution& execution);
  void ExpectTheEnd();
  void End(Execution& execution, Outcome::Kind kind);
  void EndAtOutputLimit(Execution& execution);
  std::size_t Read(Stream& stream, std::size_t most);
  void Keep(Stream& stream, std::string_view bytes);
  void Spool(Stream& stream, std::string_view bytes);
  void ReadRest(Stream& stream);

  const std::optional<std::chrono::milliseconds> timeout_;
  const bool is_merged_;
  std::uint64_t spool_room_;
  std::uint64_t room_;              // Bytes that the output limit still allows.
  std::unique_ptr<char[]> buffer_;  // From the first read on.
  std::array<Stream, 2> streams_;
  UniqueFd stop_;
  std::stop_callback<Raise> on_stop_;  // After `stop_`: ends before that is closed.
  bool channel_done_ = false;
  bool ending_ = false;
  bool over_limit_ = false;
  bool killed_ = false;
  bool destroyed_ = false;
  bool gave_up_ = false;
  SteadyTime next_deadline_ = SteadyTime::max();
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OUTPUT_PUMP_H_
