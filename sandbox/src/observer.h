// The thread that looks at system calls of commands before they go on (seccomp_unotify(2)), one for
// a whole executor set however much runs in it.

#ifndef CORDON_SANDBOX_SRC_OBSERVER_H_
#define CORDON_SANDBOX_SRC_OBSERVER_H_

#include <linux/seccomp.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// What becomes of a call: it goes on, or it never does and returns -`error_number`.
struct CallAnswer {
  bool goes_on = true;
  int error_number = 0;         // Unless it goes on; 0: it succeeded.
  int value = 0;                // What it returns then.
  bool is_given_later = false;  // By whoever the handler left that to; see `GiveAnswer`.
};

// Answers call `id` of `listener`. Without effect when the caller was killed, or interrupted and
// asks again.
void GiveAnswer(const CallAnswer& answer, int listener, std::uint64_t id);

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
  ObserverWatch(std::shared_ptr<Observer> observer, std::uint64_t key)
      : observer_(std::move(observer)), key_(key) {}
  ObserverWatch(const ObserverWatch&) = delete;
  ObserverWatch& operator=(const ObserverWatch&) = delete;
  // The listener is closed and the handler let go when this returns.
  ~ObserverWatch();

 private:
  const std::shared_ptr<Observer> observer_;
  const std::uint64_t key_;
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

  // Has `work` done by the thread a moment later, so that it takes no processor from who waits for
  // the end of a command now. It may be dropped with this object. Returns false, without keeping
  // it, where there is no thread.
  [[nodiscard]] bool Later(std::function<void()> work);

 private:
  friend class ObserverWatch;
  static constexpr std::uint64_t kPokeKey = 0;
  static constexpr std::chrono::milliseconds kMoment{1};
  struct Watched {
    UniqueFd listener;  // Invalid once it has hung up.
    std::shared_ptr<CallHandler> handler;
  };

  [[nodiscard]] absl::Status StartLocked();
  void DoSoonLocked();
  void DoWhatIsDue();
  [[nodiscard]] int MillisecondsToWait();
  [[nodiscard]] bool IsStopped();
  void Forget(std::uint64_t key);
  void Run();
  void Serve(std::uint64_t key, unsigned events);

  std::mutex mutex_;
  std::condition_variable served_;
  UniqueFd epoll_;
  UniqueFd poke_;
  bool stopped_ = false;
  std::thread thread_;
  // By keys that are never used again, other than numbers of descriptors: what was ready once may
  // be about one that is gone.
  std::map<std::uint64_t, Watched> watched_;
  std::uint64_t last_key_ = kPokeKey;
  std::uint64_t serving_ = kPokeKey;  // What the thread is busy with.
  // To be closed: the kernel frees a filter then, in a thread that it wakes for that at once.
  std::vector<UniqueFd> hung_up_;
  std::vector<std::function<void()>> later_;
  std::optional<std::chrono::steady_clock::time_point> due_;  // When one of these is to be done.
  bool waits_for_ever_ = true;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OBSERVER_H_
