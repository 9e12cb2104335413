#include "output_pump.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kRoomyPipeBytes = 1 << 20;  // What an unprivileged user may ask for (pipe(7)).
// For pid 1 to do what it was told, before the tree is destroyed from outside.
constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(1);

absl::Status CheckSpool(int file) {
  if (file < 0) return absl::OkStatus();
  struct stat status = {};
  const bool is_open = fstat(file, &status) == 0;
  const int mode = fcntl(file, F_GETFL) & O_ACCMODE;
  if (is_open && S_ISREG(status.st_mode) && mode != O_RDONLY) return absl::OkStatus();
  return MakeError(ErrorCode::kInvalidOption,
                   "a spool is a regular file that is open for writing: others could block");
}

// The bytes that were written before something failed.
std::size_t WriteWhatFits(int file, std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace

absl::StatusOr<Pipe> MakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return MakeErrnoError(errno, "cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void OutputPump::Raise::operator()() const { (void)eventfd_write(fd, 1); }

absl::StatusOr<std::unique_ptr<OutputPump>> OutputPump::Create(const RunOptions& options) {
  absl::Status spools = CheckSpool(options.spool.standard_output);
  spools.Update(CheckSpool(options.spool.standard_error));
  if (!spools.ok()) return spools;
  absl::StatusOr<Pipe> standard_output = MakePipe();
  if (!standard_output.ok()) return standard_output.status();
  absl::StatusOr<Pipe> standard_error = options.merge_output ? Pipe() : MakePipe();
  if (!standard_error.ok()) return standard_error.status();
  UniqueFd stop;
  if (options.stop.stop_possible()) stop.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (options.stop.stop_possible() && !stop.valid())
    return MakeErrnoError(errno, "cannot make an event descriptor");
  return std::unique_ptr<OutputPump>(new OutputPump(options, *std::move(standard_output),
                                                    *std::move(standard_error), std::move(stop)));
}

OutputPump::OutputPump(const RunOptions& options, Pipe standard_output, Pipe standard_error,
                       UniqueFd stop)
    : timeout_(options.timeout),
      is_merged_(options.merge_output),
      spool_room_(options.spool.max_bytes),
      room_(options.max_output_bytes.value_or(std::numeric_limits<std::uint64_t>::max())),
      streams_{{{std::move(standard_output), {options.head_bytes, options.tail_bytes}},
                {std::move(standard_error), {options.head_bytes, options.tail_bytes}}}},
      stop_(std::move(stop)),
      on_stop_(options.stop, Raise{stop_.get()}) {
  streams_[0].spool = options.spool.standard_output;
  streams_[1].spool = options.spool.standard_error;
  for (Stream& stream : streams_) {
    if (!stream.pipe.reader.valid()) continue;
    (void)fcntl(stream.pipe.reader.get(), F_SETFL, O_NONBLOCK);
    // What is still in a pipe the command has written beyond its limit.
    stream.is_roomy = options.max_output_bytes.has_value();
  }
}

absl::StatusOr<RunResult> OutputPump::Run(Execution& execution) {
  // The writing ends stay open here: that the command closes its own wakes nobody then, and its end
  // is known otherwise.
  // A set-up that hangs must not outlive the limit either; the command's own time starts later.
  SetTimeLimit(std::chrono::steady_clock::now());
  while (!gave_up_ && !execution.IsOver()) WaitForOneThing(execution);
  for (Stream& stream : streams_) ReadRest(stream);

  absl::StatusOr<RunResult> result =
      gave_up_ ? execution.Quarantine() : execution.Wait(SteadyTime::max());
  if (!result.ok()) return result;
  Outcome::Kind& kind = result->outcome.kind;
  // It may have been over the limit and gone before anybody had read that much.
  const bool by_itself = kind == Outcome::Kind::kExited || kind == Outcome::Kind::kSignaled;
  if (over_limit_ && by_itself) kind = Outcome::Kind::kOutputLimit;
  result->standard_output = std::move(streams_[0].capture).Finish();
  result->standard_output.spooled_bytes = streams_[0].spooled_bytes;
  result->standard_error = std::move(streams_[1].capture).Finish();
  result->standard_error.spooled_bytes = streams_[1].spooled_bytes;
  return result;
}

void OutputPump::WaitForOneThing(Execution& execution) {
  pollfd descriptors[] = {{streams_[0].pipe.reader.get(), POLLIN, 0},
                          {streams_[1].pipe.reader.get(), POLLIN, 0},
                          {channel_done_ ? -1 : execution.channel_fd(), POLLIN, 0},
                          {ending_ ? -1 : stop_.get(), POLLIN, 0},
                          {execution.exit_fd(), POLLIN, 0}};
  if (!PollUntil(absl::MakeSpan(descriptors), next_deadline_)) OnDeadline(execution);
  if (descriptors[2].revents != 0) OnChannel(execution);
  if (descriptors[3].revents != 0) End(execution, Outcome::Kind::kCancelled);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (descriptors[i].revents != 0) (void)Read(streams_[i], kReadBytes);
  }
  if (over_limit_) EndAtOutputLimit(execution);
}

void OutputPump::SetTimeLimit(SteadyTime from) {
  if (timeout_.has_value() && !ending_) next_deadline_ = from + *timeout_;
}

void OutputPump::OnChannel(Execution& execution) {
  const bool was_started = execution.started().has_value();
  channel_done_ = !execution.ReadEvents();
  const std::optional<SteadyTime> started = execution.started();
  if (!was_started && started.has_value()) SetTimeLimit(*started);
  // The rest takes no time, or does not end.
  if (channel_done_ || execution.has_ended()) ExpectTheEnd();
}

void OutputPump::ExpectTheEnd() {
  if (ending_) return;
  ending_ = true;
  next_deadline_ = std::chrono::steady_clock::now() + kPatience;
}

void OutputPump::OnDeadline(Execution& execution) {
  if (!ending_) return End(execution, Outcome::Kind::kTimedOut);
  gave_up_ = destroyed_;
  destroyed_ = true;
  execution.Destroy();
  next_deadline_ = std::chrono::steady_clock::now() + execution.end_patience();
}

// Asks the tree to end; pid 1 kills it after the grace. Past that it is destroyed from outside.
void OutputPump::End(Execution& execution, Outcome::Kind kind) {
  if (ending_) return;
  ending_ = true;
  execution.EndingAs(kind);
  execution.Terminate();
  next_deadline_ = std::chrono::steady_clock::now() + Process::kGrace + kPatience;
}

void OutputPump::EndAtOutputLimit(Execution& execution) {
  if (killed_) return;
  killed_ = true;
  ending_ = true;
  execution.EndingAs(Outcome::Kind::kOutputLimit);
  execution.Kill();
  next_deadline_ = std::chrono::steady_clock::now() + kPatience;
}

// Returns how many bytes it read; 0 when there are none now, or never will be.
std::size_t OutputPump::Read(Stream& stream, std::size_t most) {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  UniqueFd& pipe = stream.pipe.reader;
  const ssize_t size = read(pipe.get(), buffer_.get(), std::min(most, kReadBytes));
  if (size > 0) {
    if (!stream.is_roomy && static_cast<std::size_t>(size) == kReadBytes) {
      // Much comes: fewer changes from one process to the other. A refusal costs only speed.
      (void)fcntl(pipe.get(), F_SETPIPE_SZ, kRoomyPipeBytes);
      stream.is_roomy = true;
    }
    Keep(stream, {buffer_.get(), static_cast<std::size_t>(size)});
    return static_cast<std::size_t>(size);
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) pipe.Reset();
  return 0;
}

void OutputPump::Keep(Stream& stream, std::string_view bytes) {
  const std::size_t fits = std::min<std::uint64_t>(room_, bytes.size());
  stream.capture.Add(bytes.substr(0, fits));
  stream.capture.Discard(bytes.substr(fits));
  room_ -= fits;
  over_limit_ = over_limit_ || fits < bytes.size();
  Spool(stream, bytes.substr(0, fits));
}

// The first bytes without a gap, so that the file is what the command wrote up to there.
void OutputPump::Spool(Stream& stream, std::string_view bytes) {
  if (stream.spool < 0) return;
  const std::size_t fits = std::min<std::uint64_t>(spool_room_, bytes.size());
  const std::size_t written = WriteWhatFits(stream.spool, bytes.substr(0, fits));
  stream.spooled_bytes += written;
  spool_room_ -= written;
  if (written < bytes.size()) stream.spool = -1;
}

// What is in the pipe now and no more: somebody outside may have been handed its other end.
void OutputPump::ReadRest(Stream& stream) {
  int available = 0;
  const int pipe = stream.pipe.reader.get();
  if (pipe < 0 || ioctl(pipe, FIONREAD, &available) != 0) return;
  std::size_t left = static_cast<std::size_t>(std::max(available, 0));
  while (left > 0) {
    const std::size_t size = Read(stream, left);
    if (size == 0) return;
    left -= size;
  }
}

}  // namespace cordon::internal
