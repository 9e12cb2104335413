// One thread that waits for descriptors, timers and tasks from other threads: epoll(7).

#ifndef CORDON_NET_PROXY_SRC_EVENT_LOOP_H_
#define CORDON_NET_PROXY_SRC_EVENT_LOOP_H_

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal::egress {

using SteadyClock = std::chrono::steady_clock;
using SteadyTime = SteadyClock::time_point;

// Gets the events of a descriptor. Owned by whoever watches.
class IoHandler {
 public:
  virtual ~IoHandler() = default;
  virtual void OnIo(std::uint32_t events) = 0;
};

// Tasks for the loop, which may outlive it: a task that comes too late is dropped. Safe from any
// thread.
class TaskQueue {
 public:
  explicit TaskQueue(UniqueFd event) : event_(std::move(event)) {}
  void Post(std::function<void()> task);

 private:
  friend class EventLoop;
  [[nodiscard]] std::vector<std::function<void()>> Take();
  void Close();

  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
  bool closed_ = false;
  UniqueFd event_;
};

// All but `Create`, `tasks`, `RunAndWait` and the destructor belong to the loop's own thread.
class EventLoop {
 public:
  using TimerId = std::pair<SteadyTime, std::uint64_t>;
  static constexpr TimerId kNoTimer{};

  // The thread runs when this returns, with all signals blocked.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<EventLoop>> Create();
  // Ends the thread; tasks that wait are dropped. Not from the thread itself.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  [[nodiscard]] const std::shared_ptr<TaskQueue>& tasks() const { return tasks_; }
  // Runs `task` in the loop and returns when it is done.
  void RunAndWait(const std::function<void()>& task);

  // `events` as in epoll_ctl(2). False when the kernel refuses (memory, watches).
  [[nodiscard]] bool Watch(int fd, std::uint32_t events, IoHandler* handler);
  // Other events, or another handler. The old handler must be `Forget`ted if it goes away.
  void Rewatch(int fd, std::uint32_t events, IoHandler* handler);
  void Unwatch(int fd, IoHandler* handler);
  // No event that was already taken from the kernel reaches `handler` any more. All that is needed
  // when its descriptor, which nobody shares, is closed now: the kernel forgets that by itself.
  void Forget(IoHandler* handler);
  // Calls `handler->OnIo(0)` in the next round, after others had their turn.
  void Again(IoHandler* handler);

  [[nodiscard]] TimerId At(SteadyTime time, std::function<void()> action);
  [[nodiscard]] TimerId After(std::chrono::milliseconds wait, std::function<void()> action) {
    return At(SteadyClock::now() + wait, std::move(action));
  }
  void Cancel(TimerId& timer);

  // Destroys `object` at the end of this round, when nothing of it is on the stack.
  void Retire(std::unique_ptr<IoHandler> object) { retired_.push_back(std::move(object)); }

 private:
  EventLoop(UniqueFd epoll, std::shared_ptr<TaskQueue> tasks)
      : epoll_(std::move(epoll)), tasks_(std::move(tasks)) {}
  void Run();
  void Dispatch(int count);
  void RunTasks();
  void RunTimers();
  void RunAgain();
  [[nodiscard]] int WaitMilliseconds() const;

  static constexpr int kBatch = 256;
  UniqueFd epoll_;
  std::shared_ptr<TaskQueue> tasks_;
  epoll_event batch_[kBatch]{};
  int batch_at_ = 0;
  int batch_count_ = 0;
  std::vector<IoHandler*> again_;
  std::vector<IoHandler*> again_now_;
  std::map<TimerId, std::function<void()>> timers_;
  std::uint64_t next_timer_ = 1;
  std::vector<std::unique_ptr<IoHandler>> retired_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_EVENT_LOOP_H_
