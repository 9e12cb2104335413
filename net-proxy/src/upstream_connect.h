// The question to an organisation's proxy for a tunnel (RFC 9110 section 9.3.6), on a connection to
// it. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_UPSTREAM_CONNECT_H_
#define CORDON_NET_PROXY_SRC_UPSTREAM_CONNECT_H_

#include <functional>
#include <string>
#include <string_view>

#include "cordon/sdk/network_target.h"
#include "cordon/sdk/unique_fd.h"
#include "event_loop.h"

namespace cordon::internal::egress {

// The request. `credential` is `USER:PASSWORD`, or empty.
[[nodiscard]] std::string ConnectRequest(const NetworkTarget& target, std::string_view credential);

struct ConnectAnswer {
  bool is_complete = false;
  std::string problem;   // Why there is no tunnel; empty when there is one.
  std::size_t size = 0;  // Of the head, after which the tunnel's bytes begin.
};

// What a proxy says to it, from its first byte on. Pure.
[[nodiscard]] ConnectAnswer ParseConnectAnswer(std::string_view bytes);

class UpstreamConnect final : public IoHandler {
 public:
  // With an empty problem the descriptor is a tunnel to the target. It is not watched.
  using Done = std::function<void(UniqueFd, std::string problem)>;

  // `fd` is connected and not watched. `done` is called once, later, unless this is destroyed
  // before; it may destroy it.
  UpstreamConnect(EventLoop& loop, UniqueFd fd, std::string request, Done done);
  ~UpstreamConnect() override;
  UpstreamConnect(const UpstreamConnect&) = delete;
  UpstreamConnect& operator=(const UpstreamConnect&) = delete;

  // False when it cannot be asked; then `done` is not called.
  [[nodiscard]] bool Start();
  void OnIo(std::uint32_t events) override;

 private:
  void Finish(std::string problem);

  EventLoop& loop_;
  UniqueFd fd_;
  std::string request_;
  Done done_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_UPSTREAM_CONNECT_H_
