// The registry's own thread: polls what runs, takes in output, settles what has ended.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "folder_registry.h"

namespace cordon::internal {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void FolderProcessRegistry::Wake() const {
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

std::vector<JobPtr> FolderProcessRegistry::Running() const {
  const std::lock_guard lock(mutex_);
  return started_;
}

void FolderProcessRegistry::Loop(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { Wake(); });
  while (true) {
    const std::vector<JobPtr> running = Running();
    // What is still running when the end is asked for is settled first.
    if (stop.stop_requested() && (running.empty() || abandoned_)) return;
    PollOnce(running);
  }
}

void FolderProcessRegistry::PollOnce(const std::vector<JobPtr>& running) {
  std::vector<pollfd> descriptors = {{wake_.get(), POLLIN, 0}};
  SteadyTime next = SteadyTime::max();
  for (const JobPtr& job : running) {
    descriptors.push_back({job->output_fd(), POLLIN, 0});
    descriptors.push_back({job->exit_fd(), POLLIN, 0});
    next = std::min(next, job->time_limit());
  }
  int timeout = -1;
  if (next != SteadyTime::max()) {
    const auto left = std::chrono::ceil<milliseconds>(next - steady_clock::now()).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  if (poll(descriptors.data(), descriptors.size(), timeout) < 0) return;
  if (descriptors[0].revents != 0) {
    std::uint64_t count = 0;
    (void)!read(wake_.get(), &count, sizeof count);
  }
  bool news = false;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const JobPtr& job = running[i];
    if (descriptors[2 * i + 1].revents != 0) news |= job->DrainOutput();
    if (descriptors[2 * i + 2].revents != 0) {
      OnEnd(job);
    } else if (steady_clock::now() >= job->time_limit()) {
      job->OnTimeLimit();
    }
  }
  if (!news) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void FolderProcessRegistry::OnEnd(const JobPtr& job) {
  job->Settle();
  JobInfo info;
  {
    // Whoever sees that it has ended finds it among those that nobody was told of.
    const std::lock_guard lock(mutex_);
    job->MarkEnded();
    info = job->Info();
    std::erase(started_, job);
    AppendLocked(job);
    std::vector<JobInfo>& untold = ended_[job->owner()];
    if (untold.size() >= options_.max_ended) untold.erase(untold.begin());
    untold.push_back(info);
    ForgetOldestEndedLocked();
    changed_.notify_all();
  }
  if (options_.on_end) options_.on_end(job->owner(), info);
}

}  // namespace cordon::internal
