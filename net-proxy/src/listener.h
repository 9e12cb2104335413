// A listening socket whose connections are taken in the loop. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_LISTENER_H_
#define CORDON_NET_PROXY_SRC_LISTENER_H_

#include <functional>

#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"

namespace cordon::internal::egress {

class Listener final : public IoHandler {
 public:
  // Whether the next connection may be taken, asked before each. After false, `Resume` goes on.
  using MayAccept = std::function<bool()>;
  using Accepted = std::function<void(UniqueFd)>;

  Listener(EventLoop& loop, UniqueFd fd, MayAccept may_accept, Accepted accepted);
  ~Listener() override;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] bool Start();
  void Resume();
  void OnIo(std::uint32_t events) override;

 private:
  void Pause();

  EventLoop& loop_;
  UniqueFd fd_;
  MayAccept may_accept_;
  Accepted accepted_;
  bool paused_ = false;
  EventLoop::TimerId retry_ = EventLoop::kNoTimer;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_LISTENER_H_
