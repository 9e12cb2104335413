#include "event_loop.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <system_error>

#include "cordon/sdk/status.h"

namespace cordon::internal::egress {

void TaskQueue::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() > 1) return;  // The loop was told and has not looked yet.
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then it is readable already.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

std::vector<std::function<void()>> TaskQueue::Take() {
  std::uint64_t count = 0;
  const std::lock_guard lock(mutex_);
  [[maybe_unused]] const ssize_t size = read(event_.get(), &count, sizeof count);
  return std::exchange(tasks_, {});
}

void TaskQueue::Close() {
  std::vector<std::function<void()>> dropped;  // Destroyed without the lock.
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(tasks_);
}

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Create() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll.valid() || !event.valid()) {
    return MakeErrnoError(errno, "cannot make the event loop of the egress proxy");
  }
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.ptr = nullptr;  // The task queue.
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &wanted) != 0) {
    return MakeErrnoError(errno, "cannot make the event loop of the egress proxy");
  }
  std::unique_ptr<EventLoop> loop(
      new EventLoop(std::move(epoll), std::make_shared<TaskQueue>(std::move(event))));
  // Signals are the business of the application's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  EventLoop* const raw = loop.get();
  bool started = true;
  try {
    loop->thread_ = std::thread([raw] { raw->Run(); });
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    return MakeError(ErrorCode::kUnavailable,
                     "the host gives no thread to the egress proxy: see the limit on processes");
  }
  return loop;
}

EventLoop::~EventLoop() {
  if (!thread_.joinable()) return;
  tasks_->Post([this] { stopping_ = true; });
  thread_.join();
  tasks_->Close();
}

void EventLoop::RunAndWait(const std::function<void()>& task) {
  if (std::this_thread::get_id() == thread_.get_id()) return task();
  std::mutex mutex;
  std::condition_variable condition;
  bool done = false;
  tasks_->Post([&] {
    task();
    const std::lock_guard lock(mutex);
    done = true;
    condition.notify_one();
  });
  std::unique_lock lock(mutex);
  condition.wait(lock, [&done] { return done; });
}

bool EventLoop::Watch(int fd, std::uint32_t events, IoHandler* handler) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.ptr = handler;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) == 0;
}

void EventLoop::Rewatch(int fd, std::uint32_t events, IoHandler* handler) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.ptr = handler;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &wanted);
}

void EventLoop::Unwatch(int fd, IoHandler* handler) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  Forget(handler);
}

void EventLoop::Forget(IoHandler* handler) {
  for (int i = batch_at_; i < batch_count_; ++i) {
    if (batch_[i].data.ptr == handler) batch_[i].events = 0;
  }
  for (std::vector<IoHandler*>* list : {&again_, &again_now_}) {
    std::replace(list->begin(), list->end(), handler, static_cast<IoHandler*>(nullptr));
  }
}

void EventLoop::Again(IoHandler* handler) { again_.push_back(handler); }

EventLoop::TimerId EventLoop::At(SteadyTime time, std::function<void()> action) {
  const TimerId id{time, next_timer_++};
  timers_.emplace(id, std::move(action));
  return id;
}

void EventLoop::Cancel(TimerId& timer) {
  if (timer != kNoTimer) timers_.erase(timer);
  timer = kNoTimer;
}

void EventLoop::Run() {
  while (!stopping_) {
    const int count = epoll_wait(epoll_.get(), batch_, kBatch, WaitMilliseconds());
    if (count > 0) Dispatch(count);
    RunAgain();
    RunTimers();
    retired_.clear();
  }
}

void EventLoop::Dispatch(int count) {
  bool has_tasks = false;
  batch_count_ = count;
  for (int i = 0; i < count; ++i) {
    batch_at_ = i + 1;
    auto* const handler = static_cast<IoHandler*>(batch_[i].data.ptr);
    if (handler == nullptr) {
      has_tasks = true;
    } else if (batch_[i].events != 0) {
      handler->OnIo(batch_[i].events);
    }
  }
  batch_count_ = 0;
  if (has_tasks) RunTasks();
}

void EventLoop::RunTasks() {
  for (const std::function<void()>& task : tasks_->Take()) task();
}

void EventLoop::RunTimers() {
  if (timers_.empty()) return;
  const SteadyTime now = SteadyClock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto node = timers_.extract(timers_.begin());
    node.mapped()();
  }
}

void EventLoop::RunAgain() {
  again_now_.swap(again_);
  for (std::size_t i = 0; i < again_now_.size(); ++i) {
    if (again_now_[i] != nullptr) again_now_[i]->OnIo(0);
  }
  again_now_.clear();
}

int EventLoop::WaitMilliseconds() const {
  if (!again_.empty()) return 0;
  if (timers_.empty()) return -1;
  // Rounded up: otherwise the last millisecond would be spent without waiting.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first -
                                                                 SteadyClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

}  // namespace cordon::internal::egress
