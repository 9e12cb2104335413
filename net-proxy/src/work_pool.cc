#include "work_pool.h"

#include <pthread.h>
#include <signal.h>

#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace cordon::internal::egress {

struct WorkPool::Shared {
  explicit Shared(std::size_t max) : max_threads(max) {}

  const std::size_t max_threads;
  std::mutex mutex;
  std::deque<std::function<void()>> waiting;
  std::size_t threads = 0;
  bool closed = false;

  static void Work(const std::shared_ptr<Shared>& shared) {
    while (true) {
      std::function<void()> work;
      {
        const std::lock_guard lock(shared->mutex);
        if (shared->closed || shared->waiting.empty()) {
          --shared->threads;
          return;
        }
        work = std::move(shared->waiting.front());
        shared->waiting.pop_front();
      }
      work();
    }
  }
};

WorkPool::WorkPool(std::size_t max_threads) : shared_(std::make_shared<Shared>(max_threads)) {}

WorkPool::~WorkPool() {
  std::deque<std::function<void()>> dropped;  // Destroyed without the lock.
  const std::lock_guard lock(shared_->mutex);
  shared_->closed = true;
  dropped.swap(shared_->waiting);
}

void WorkPool::Submit(std::function<void()> work) {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting.push_back(std::move(work));
  if (shared_->threads >= shared_->max_threads) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    std::thread([shared = shared_] { Shared::Work(shared); }).detach();
    ++shared_->threads;
  } catch (const std::system_error&) {
    // No thread to be had. With others at work this waits for them; else the caller's deadline
    // ends it.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace cordon::internal::egress
