#include "cordon/sdk/process.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cordon/sdk/status.h"

namespace cordon {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Readable once a stop is requested.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop)
      : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), on_stop_(stop, Raise{event_.get()}) {}

  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  struct Raise {
    int fd;
    void operator()() const { (void)eventfd_write(fd, 1); }
  };
  UniqueFd event_;
  std::stop_callback<Raise> on_stop_;  // After `event_`: ends before that is closed.
};

int MillisecondsUntil(SteadyTime deadline) {
  // Long waits are cut into pieces: the end of time less now is more than an int holds.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(1);
  const SteadyTime now = std::chrono::steady_clock::now();
  if (deadline <= now) return 0;
  if (deadline - now >= kLongest) return static_cast<int>(kLongest.count());
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count());
}

// Marks the entries that are ready; the last one is for the stop. Returns whether there are any.
absl::StatusOr<bool> WaitForSome(std::vector<pollfd>& entries, SteadyTime deadline) {
  const int ready = poll(entries.data(), entries.size(), MillisecondsUntil(deadline));
  if (ready < 0 && errno != EINTR) return MakeErrnoError(errno, "cannot wait for processes");
  if (ready > 0 && entries.back().revents != 0) {
    return MakeError(ErrorCode::kCancelled, "cancelled while the command still runs");
  }
  if (ready > 0) return true;
  if (std::chrono::steady_clock::now() < deadline) return false;
  return MakeError(ErrorCode::kTimeLimit, "the command still runs");
}

absl::StatusOr<std::vector<pollfd>> EntriesOf(absl::Span<Process* const> processes) {
  std::vector<pollfd> entries;
  for (const Process* process : processes) {
    if (process == nullptr) break;
    entries.push_back({process->exit_fd(), POLLIN, 0});
  }
  if (!entries.empty() && entries.size() == processes.size()) return entries;
  return MakeError(ErrorCode::kInvalidOption, "there is no process to wait for");
}

}  // namespace

UniqueFd Process::TakeTerminal() { return {}; }

absl::Status Process::Resize(TerminalSize size) {
  static_cast<void>(size);
  return MakeError(ErrorCode::kInvalidOption, "the command has no terminal");
}

absl::StatusOr<RunResult> Process::Wait(SteadyTime deadline, std::stop_token stop) {
  Process* const self[] = {this};
  absl::Status ended = WaitForAll(self, deadline, std::move(stop));
  if (!ended.ok()) return ended;
  return Wait(SteadyTime::max());
}

absl::StatusOr<std::size_t> WaitForAny(absl::Span<Process* const> processes, SteadyTime deadline,
                                       std::stop_token stop) {
  absl::StatusOr<std::vector<pollfd>> entries = EntriesOf(processes);
  if (!entries.ok()) return entries.status();
  const StopEvent stopped(stop);
  entries->push_back({stopped.fd(), POLLIN, 0});
  while (true) {
    const absl::StatusOr<bool> some = WaitForSome(*entries, deadline);
    if (!some.ok()) return some.status();
    const auto is_ready = [](const pollfd& entry) { return entry.revents != 0; };
    const auto first = std::find_if(entries->begin(), entries->end(), is_ready);
    if (*some && first != entries->end()) {
      return static_cast<std::size_t>(first - entries->begin());
    }
  }
}

absl::Status WaitForAll(absl::Span<Process* const> processes, SteadyTime deadline,
                        std::stop_token stop) {
  absl::StatusOr<std::vector<pollfd>> entries = EntriesOf(processes);
  if (!entries.ok()) return entries.status();
  const StopEvent stopped(stop);
  entries->push_back({stopped.fd(), POLLIN, 0});
  while (entries->size() > 1) {
    const absl::StatusOr<bool> some = WaitForSome(*entries, deadline);
    if (!some.ok()) return some.status();
    if (*some) std::erase_if(*entries, [](const pollfd& entry) { return entry.revents != 0; });
  }
  return absl::OkStatus();
}

}  // namespace cordon
