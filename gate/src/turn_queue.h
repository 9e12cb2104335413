// One at a time, first come, first served. Safe from any thread.

#ifndef CORDON_GATE_SRC_TURN_QUEUE_H_
#define CORDON_GATE_SRC_TURN_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <stop_token>
#include <utility>

namespace cordon::internal {

class TurnQueue {
 public:
  // Holds the turn until it is destroyed; empty when the wait was cancelled.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(TurnQueue* queue) : queue_(queue) {}
    Turn(Turn&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (queue_ != nullptr) queue_->Leave();
    }
    [[nodiscard]] explicit operator bool() const { return queue_ != nullptr; }

   private:
    TurnQueue* queue_ = nullptr;
  };

  [[nodiscard]] Turn Enter(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = next_++;
    waiting_.push_back(mine);
    const bool ready = changed_.wait(lock, stop, [&] { return waiting_.front() == mine; });
    if (ready) return Turn(this);
    waiting_.remove(mine);
    changed_.notify_all();
    return Turn();
  }

  // How many wait for whoever has the turn.
  [[nodiscard]] std::size_t waiting_behind() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() ? 0 : waiting_.size() - 1;
  }

 private:
  void Leave() {
    const std::lock_guard lock(mutex_);
    waiting_.pop_front();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<std::uint64_t> waiting_;  // The front has the turn.
  std::uint64_t next_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_TURN_QUEUE_H_
