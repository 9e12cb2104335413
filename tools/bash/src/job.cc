#include "job.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kDrainBytes = 256 * 1024;

absl::Status SetNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return absl::OkStatus();
  return MakeErrnoError(errno, "cannot prepare a pipe of a background job");
}

int MillisecondsUntil(SteadyTime end) {
  const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000));
}

}  // namespace

absl::StatusOr<JobPipe> MakeJobPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return MakeErrnoError(errno, "cannot make a pipe");
  return JobPipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

JobInfo Job::Info() const {
  const std::lock_guard lock(mutex_);
  JobInfo info = info_;
  if (spool_ != nullptr) info.output_bytes = spool_->total_bytes();
  return info;
}

std::shared_ptr<Process> Job::process() const {
  const std::lock_guard lock(mutex_);
  return process_;
}

bool Job::IsOver() const {
  const std::lock_guard lock(mutex_);
  return info_.state == JobState::kEnded || info_.state == JobState::kLost;
}

absl::StatusOr<JobOutput> Job::Read(std::uint64_t cursor, std::size_t max_bytes) const {
  // Asked first: what is written between the two questions is then read by the next call.
  const bool over = IsOver();
  JobOutput output;
  output.next_cursor = cursor;
  if (spool_ == nullptr) {
    output.at_end = over;
    return output;
  }
  absl::StatusOr<SpoolSlice> slice = spool_->Read(cursor, max_bytes);
  if (!slice.ok()) return slice.status();
  output.bytes = std::move(slice->bytes);
  output.skipped_bytes = slice->skipped_bytes;
  output.next_cursor = slice->next_cursor;
  output.at_end = over && slice->next_cursor >= spool_->total_bytes();
  return output;
}

absl::Status Job::Start(std::shared_ptr<Executor> executor, const Command& command,
                        JobOptions options) {
  absl::StatusOr<JobPipe> input = MakeJobPipe();
  absl::StatusOr<JobPipe> output = MakeJobPipe();
  if (!input.ok()) return input.status();
  if (!output.ok()) return output.status();
  absl::Status status = SetNonBlocking(output->reader.get());
  if (status.ok()) status = SetNonBlocking(input->writer.get());
  if (!status.ok()) return status;

  ProcessOptions process_options;
  process_options.execution_id = info_.execution_id;
  process_options.grants = std::move(options.grants);
  process_options.standard_input = {StreamOption::Kind::kFd, input->reader.get()};
  process_options.standard_output = {StreamOption::Kind::kFd, output->writer.get()};
  process_options.standard_error = {StreamOption::Kind::kFd, output->writer.get()};
  absl::StatusOr<std::unique_ptr<PreparedProcess>> prepared =
      executor->PrepareProcess(command, process_options);
  if (!prepared.ok()) return prepared.status();
  absl::StatusOr<std::unique_ptr<Process>> process = (*prepared)->Start();
  if (!process.ok()) return process.status();

  output_ = std::move(output->reader);
  input_ = *std::move(input);
  if (options.timeout.has_value()) {
    time_limit_ = std::chrono::steady_clock::now() + *options.timeout;
  }
  const std::lock_guard lock(mutex_);
  executor_ = std::move(executor);
  process_ = *std::move(process);
  info_.state = JobState::kRunning;
  return absl::OkStatus();
}

void Job::OnTimeLimit() {
  time_limit_ = SteadyTime::max();
  {
    const std::lock_guard lock(mutex_);
    timed_out_ = true;
  }
  (void)Signal(ProcessSignal::kTerminate);
}

bool Job::DrainOutput() {
  std::array<char, 65536> buffer;
  std::size_t taken = 0;
  while (output_.valid() && taken < kDrainBytes) {
    const ssize_t got = read(output_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      output_.Reset();
      break;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    taken += bytes.size();
    if (!spool_->Append(bytes).ok()) {
      const std::lock_guard lock(mutex_);
      info_.lost_output_bytes += bytes.size();
    }
  }
  return taken > 0;
}

void Job::Settle() {
  // The tree has ended, so this is at most what the pipe holds.
  while (DrainOutput()) {
  }
  output_.Reset();
  spool_->Finish();
  CloseInput();
  absl::StatusOr<RunResult> result = process()->Wait(std::chrono::steady_clock::now());
  const std::lock_guard lock(mutex_);
  process_.reset();
  executor_.reset();
  if (!result.ok()) {
    info_.outcome = Outcome{Outcome::Kind::kCancelled, {}, {}, {}, {}, 0};
    return;
  }
  info_.outcome = result->outcome;
  if (timed_out_ && result->outcome.kind == Outcome::Kind::kCancelled) {
    info_.outcome->kind = Outcome::Kind::kTimedOut;
  }
  info_.denials = std::move(result->denials);
  info_.changed_protected = std::move(result->changed_protected);
  info_.grants = std::move(result->grants);
}

void Job::MarkEnded() {
  const std::lock_guard lock(mutex_);
  info_.state = JobState::kEnded;
}

absl::StatusOr<std::size_t> Job::WriteInput(std::string_view bytes, SteadyTime deadline) {
  const std::lock_guard lock(input_mutex_);
  const std::shared_ptr<Process> running = process();
  if (!input_.writer.valid() || running == nullptr) {
    return MakeError(ErrorCode::kClosed,
                     absl::StrFormat("%s takes no input: %s", handle(),
                                     IsOver() ? "it has ended" : "its input was closed"));
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = write(input_.writer.get(), bytes.data() + done, bytes.size() - done);
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written > 0 || (written < 0 && errno == EINTR)) continue;
    if (errno != EAGAIN) return MakeErrnoError(errno, "cannot write to a background job's input");
    pollfd ready[] = {{input_.writer.get(), POLLOUT, 0}, {running->exit_fd(), POLLIN, 0}};
    const bool late = std::chrono::steady_clock::now() >= deadline;
    if (late || (poll(ready, 2, MillisecondsUntil(deadline)) > 0 && ready[1].revents != 0)) break;
  }
  return done;
}

void Job::CloseInput() {
  const std::lock_guard lock(input_mutex_);
  input_ = {};
}

absl::Status Job::Signal(ProcessSignal signal) {
  const std::shared_ptr<Process> running = process();
  return running == nullptr ? absl::OkStatus() : running->Signal(signal);
}

absl::Status Job::Kill() {
  const std::shared_ptr<Process> running = process();
  return running == nullptr ? absl::OkStatus() : running->Close();
}

}  // namespace cordon::internal
