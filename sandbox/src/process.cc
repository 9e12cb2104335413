#include "process.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "output_pump.h"

namespace cordon::internal {
namespace {

absl::Status CheckSize(TerminalSize size) {
  if (size.rows != 0 && size.columns != 0) return absl::OkStatus();
  return MakeError(ErrorCode::kInvalidOption, "a terminal has at least one row and one column");
}

class LiveProcess final : public Process {
 public:
  // `resizable`: another descriptor of `terminal`; both are invalid without one.
  LiveProcess(std::shared_ptr<Execution> execution, ProcessStreams streams, UniqueFd terminal,
              UniqueFd resizable)
      : execution_(std::move(execution)),
        streams_(std::move(streams)),
        terminal_(std::move(terminal)),
        resizable_(std::move(resizable)),
        end_(execution_->MakeEndFd()) {}

  ~LiveProcess() override { (void)execution_->Close(); }

  UniqueFd TakeStandardInput() override { return std::move(streams_.callers[0]); }
  UniqueFd TakeStandardOutput() override { return std::move(streams_.callers[1]); }
  UniqueFd TakeStandardError() override { return std::move(streams_.callers[2]); }

  UniqueFd TakeTerminal() override { return std::move(terminal_); }

  absl::Status Resize(TerminalSize size) override {
    if (!resizable_.valid()) return Process::Resize(size);
    if (absl::Status checked = CheckSize(size); !checked.ok()) return checked;
    const winsize window = {size.rows, size.columns, 0, 0};
    if (ioctl(resizable_.get(), TIOCSWINSZ, &window) == 0) return absl::OkStatus();
    return MakeErrnoError(errno, "cannot resize the terminal");
  }

  int exit_fd() const override { return end_.valid() ? end_.get() : execution_->exit_fd(); }

  absl::StatusOr<RunResult> Wait(SteadyTime deadline) override {
    return execution_->Wait(deadline);
  }

  absl::Status Signal(ProcessSignal signal) override {
    switch (signal) {
      case ProcessSignal::kInterrupt:
        execution_->EndingAs(Outcome::Kind::kCancelled);
        execution_->Interrupt();
        return absl::OkStatus();
      case ProcessSignal::kTerminate:
        execution_->EndingAs(Outcome::Kind::kCancelled);
        execution_->Terminate();
        return absl::OkStatus();
      case ProcessSignal::kKill:
        execution_->EndingAs(Outcome::Kind::kCancelled);
        execution_->Kill();
        return absl::OkStatus();
    }
    return MakeError(ErrorCode::kInvalidOption, "unknown kind of signal");
  }

  absl::Status Close() override { return execution_->Close(); }

 private:
  const std::shared_ptr<Execution> execution_;
  ProcessStreams streams_;
  UniqueFd terminal_;
  const UniqueFd resizable_;
  const UniqueFd end_;
};

class PreparedConfinedProcess final : public PreparedProcess {
 public:
  PreparedConfinedProcess(std::shared_ptr<LiveExecutions> live, PreparedSpawn spawn,
                          ProcessStreams streams)
      : live_(std::move(live)),
        paths_(std::move(spawn.paths)),
        spawn_(std::move(spawn)),
        streams_(std::move(streams)) {}

  const PathPolicy& effective_paths() const override { return paths_; }

  absl::StatusOr<std::unique_ptr<Process>> Start() override {
    std::optional<PreparedSpawn> spawn = TakeSpawn();
    if (!spawn.has_value()) {
      return MakeError(ErrorCode::kClosed, "the prepared process was started before");
    }
    absl::StatusOr<std::shared_ptr<Execution>> execution =
        StartPrepared(live_, *std::move(spawn), {End(0), End(1), End(2)});
    // The command's ends are its own now, or nobody's.
    for (UniqueFd& own : streams_.own) own.Reset();
    if (!execution.ok()) return execution.status();
    absl::Status started = (*execution)->AwaitStart();
    UniqueFd terminal = (*execution)->TakeTerminal();
    UniqueFd resizable;
    if (started.ok() && terminal.valid()) {
      resizable.Reset(fcntl(terminal.get(), F_DUPFD_CLOEXEC, 3));
      if (!resizable.valid()) started = MakeErrnoError(errno, "cannot keep the terminal");
    }
    if (started.ok()) {
      return std::make_unique<LiveProcess>(*std::move(execution), std::move(streams_),
                                           std::move(terminal), std::move(resizable));
    }
    (void)(*execution)->Close();
    return started;
  }

 private:
  std::optional<PreparedSpawn> TakeSpawn() {
    const std::lock_guard lock(mutex_);
    return std::exchange(spawn_, std::nullopt);
  }

  int End(std::size_t stream) const {
    return streams_.own[stream].valid() ? streams_.own[stream].get() : streams_.borrowed[stream];
  }

  const std::shared_ptr<LiveExecutions> live_;
  const PathPolicy paths_;
  std::mutex mutex_;
  std::optional<PreparedSpawn> spawn_;
  ProcessStreams streams_;
};

absl::Status MakeStream(const StreamOption& option, std::size_t index, ProcessStreams& streams) {
  switch (option.kind) {
    case StreamOption::Kind::kNull: {
      absl::StatusOr<UniqueFd> null = OpenNull();
      if (!null.ok()) return null.status();
      streams.own[index] = *std::move(null);
      return absl::OkStatus();
    }
    case StreamOption::Kind::kPipe: {
      absl::StatusOr<Pipe> pipe = MakePipe();
      if (!pipe.ok()) return pipe.status();
      const bool input = index == 0;
      streams.own[index] = std::move(input ? pipe->reader : pipe->writer);
      streams.callers[index] = std::move(input ? pipe->writer : pipe->reader);
      return absl::OkStatus();
    }
    case StreamOption::Kind::kFd:
      streams.borrowed[index] = option.fd;
      if (fcntl(option.fd, F_GETFD) >= 0) return absl::OkStatus();
      return MakeError(ErrorCode::kInvalidOption,
                       absl::StrFormat("descriptor %d for stream %d is not open", option.fd,
                                       static_cast<int>(index)));
  }
  return MakeError(ErrorCode::kInvalidOption, "unknown kind of stream");
}

}  // namespace

absl::StatusOr<ProcessStreams> MakeProcessStreams(const ProcessOptions& options) {
  ProcessStreams streams;
  if (options.terminal.has_value()) {
    absl::Status status = CheckSize(*options.terminal);
    for (std::size_t i = 0; i < 3 && status.ok(); ++i) status = MakeStream({}, i, streams);
    if (!status.ok()) return status;
    return streams;
  }
  absl::Status status = MakeStream(options.standard_input, 0, streams);
  if (status.ok()) status = MakeStream(options.standard_output, 1, streams);
  if (status.ok()) status = MakeStream(options.standard_error, 2, streams);
  if (!status.ok()) return status;
  return streams;
}

std::unique_ptr<PreparedProcess> MakePreparedProcess(std::shared_ptr<LiveExecutions> live,
                                                     PreparedSpawn spawn, ProcessStreams streams) {
  return std::make_unique<PreparedConfinedProcess>(std::move(live), std::move(spawn),
                                                   std::move(streams));
}

}  // namespace cordon::internal
