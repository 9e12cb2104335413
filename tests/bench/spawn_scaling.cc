// Does a confined spawn get slower when the calling program is large? Prints the ratio of medians:
// 64 threads and 2 GiB resident against the same program before and after. A fork(2) of the caller,
// which cordon never makes, is measured beside it as a control.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cordon/sandbox/executor_set.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr int kRounds = 200;
constexpr int kForkRounds = 5;
constexpr std::size_t kResidentBytes = std::size_t{2} << 30;
constexpr int kThreads = 64;

double MedianMilliseconds(int rounds, const std::function<bool()>& act) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!act()) {
      std::fprintf(stderr, "the command failed\n");
      std::exit(1);
    }
    times.push_back(Milliseconds(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds) / 2];
}

bool ForkAndWait() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0 && waitpid(child, nullptr, 0) == child;
}

// Memory that is really there, and threads that wait, for as long as it lives.
class Bulk {
 public:
  Bulk()
      : memory_(mmap(nullptr, kResidentBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0)) {
    if (memory_ == MAP_FAILED) std::exit(1);
    // Small pages, as a heap that grew has.
    (void)madvise(memory_, kResidentBytes, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < kResidentBytes; i += 4096) static_cast<char*>(memory_)[i] = 1;
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this] {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return end_; });
      });
    }
  }
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;
  ~Bulk() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    ended_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    munmap(memory_, kResidentBytes);
  }

 private:
  void* memory_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

int main() {
  std::string folder = std::filesystem::temp_directory_path() / "cordon-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const std::string workspace = folder + "/workspace";
  const std::string scratch = folder + "/scratch";
  std::filesystem::create_directory(workspace);
  std::filesystem::create_directory(scratch);

  cordon::ProfileConfig config;
  config.workspace_root = workspace;
  config.workspace_read = config.workspace_write = config.command = cordon::Access::kAllow;
  cordon::ExecutorSetOptions options;
  options.scratch_root = scratch;
  options.max_executors = 1;
  const auto profile = cordon::Profile::Create(config);
  if (!profile.ok()) return 1;
  auto set = cordon::ExecutorSet::Create(*profile, options);
  if (!set.ok()) {
    std::fprintf(stderr, "%s\n", set.status().ToString().c_str());
    return 1;
  }
  const auto executor = (*set)->For("bench");
  if (!executor.ok()) return 1;
  const auto confined = [&] { return (*executor)->RunArgv(workspace, {"/bin/true"}).ok(); };

  (void)MedianMilliseconds(20, confined);
  const double before = MedianMilliseconds(kRounds, confined);
  const double fork_before = MedianMilliseconds(kForkRounds, ForkAndWait);
  auto bulk = std::make_unique<Bulk>();
  const double large = MedianMilliseconds(kRounds, confined);
  const double fork_large = MedianMilliseconds(kForkRounds, ForkAndWait);
  bulk.reset();
  const double after = MedianMilliseconds(kRounds, confined);

  const double small = (before + after) / 2;
  std::printf("confined /bin/true, median of %d\n", kRounds);
  std::printf("  small caller          %6.2f ms (before %.2f, after %.2f)\n", small, before, after);
  std::printf("  2 GiB and 64 threads  %6.2f ms\n", large);
  std::printf("  ratio                 %6.2f\n", large / small);
  std::printf("control: fork of the caller %.2f ms small, %.2f ms large, ratio %.1f\n", fork_before,
              fork_large, fork_large / fork_before);
  set->reset();
  std::filesystem::remove_all(folder);
  return 0;
}
