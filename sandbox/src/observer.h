// The thread that looks at system calls of commands before they go on (seccomp_unotify(2)), one for
// a whole executor set however much runs in it.

#ifndef CORDON_SANDBOX_SRC_OBSERVER_H_
#define CORDON_SANDBOX_SRC_OBSERVER_H_

#include <linux/seccomp.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// What becomes of a call: it goes on, or it never does and returns -`error_number`.
struct CallAnswer {
  bool goes_on = true;
  int error_number = 0;  // Unless it goes on; 0: it succeeded.
  int value = 0;         // What it returns then.
};

// Looks at the calls of one command.
class CallHandler {
 public:
  virtual ~CallHandler() = default;

  // On the observer's thread, while the caller is held: takes microseconds and never waits for a
  // command. `listener` is borrowed.
  virtual CallAnswer OnCall(const seccomp_notif& call, int listener) = 0;
};

// The errno with which a command is refused a listener here: EBUSY where this program is observed
// itself, since there is at most one for a process. 0 when it can have one. Tried once, in a thread
// that is thrown away.
[[nodiscard]] int ObservationError();

class Observer;

// While it exists, the calls of one command are answered. To be dropped once the command's tree has
// ended: what still runs gets ENOSYS for its calls.
class ObserverWatch {
 public:
  ObserverWatch(std::shared_ptr<Observer> observer, int listener)
      : observer_(std::move(observer)), listener_(listener) {}
  ObserverWatch(const ObserverWatch&) = delete;
  ObserverWatch& operator=(const ObserverWatch&) = delete;
  // The listener is closed and the handler let go when this returns.
  ~ObserverWatch();

 private:
  const std::shared_ptr<Observer> observer_;
  const int listener_;
};

// Every call gets the answer of its handler. Commands take turns, one call each, so that one that
// asks much does not delay the others much. Safe from any thread.
class Observer : public std::enable_shared_from_this<Observer> {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  ~Observer();

  // Starts the thread when there is none. Returns kInternal when there is no thread or memory for
  // it; `listener` is closed then.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<ObserverWatch>> Watch(
      UniqueFd listener, std::shared_ptr<CallHandler> handler);

 private:
  friend class ObserverWatch;
  struct Watched {
    UniqueFd listener;
    std::shared_ptr<CallHandler> handler;
  };

  [[nodiscard]] absl::Status StartLocked();
  void Forget(int listener);
  void Run();
  void Serve(int listener, unsigned events);

  std::mutex mutex_;
  std::condition_variable served_;
  UniqueFd epoll_;
  UniqueFd stop_;
  std::thread thread_;
  std::map<int, Watched> watched_;  // By the listener's number.
  int serving_ = -1;                // The listener that the thread is busy with.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OBSERVER_H_
