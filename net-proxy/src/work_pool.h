// Threads for calls that may block: look-ups and questions. They are made when needed, up to a
// limit, and end when nothing waits. Safe from any thread.

#ifndef CORDON_NET_PROXY_SRC_WORK_POOL_H_
#define CORDON_NET_PROXY_SRC_WORK_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>

namespace cordon::internal::egress {

class WorkPool {
 public:
  explicit WorkPool(std::size_t max_threads);
  // Drops what waits and does not wait for what runs: getaddrinfo(3) cannot be interrupted. So work
  // must own all that it touches.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  void Submit(std::function<void()> work);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_WORK_POOL_H_
