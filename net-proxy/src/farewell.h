// The end of a connection that is refused with words: sends them, and then reads what the client
// had still sent, since closing a socket with unread bytes takes back what was just written.
// Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_FAREWELL_H_
#define CORDON_NET_PROXY_SRC_FAREWELL_H_

#include <cstddef>
#include <functional>
#include <string_view>

#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"

namespace cordon::internal::egress {

class Farewell final : public IoHandler {
 public:
  // `over` is called once, at most a second later.
  Farewell(EventLoop& loop, UniqueFd fd, std::function<void(Farewell*)> over);
  ~Farewell() override;
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

  // What the socket's buffer does not take of `words` is lost.
  void Start(std::string_view words);
  void OnIo(std::uint32_t events) override;

 private:
  void End();

  EventLoop& loop_;
  UniqueFd fd_;
  std::function<void(Farewell*)> over_;
  std::size_t read_ = 0;
  EventLoop::TimerId deadline_ = EventLoop::kNoTimer;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_FAREWELL_H_
