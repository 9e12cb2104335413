// Sees every TCP connection that is tried through a gateway, also those that the kernel refuses by
// itself since nobody listens: a packet socket (packet(7)) with a filter for first segments. It
// only watches. Belongs to the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_SYN_WATCH_H_
#define CORDON_NET_PROXY_SRC_SYN_WATCH_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "cordon/sdk/unique_fd.h"
#include "endpoint.h"
#include "event_loop.h"

namespace cordon::internal::egress {

struct Syn {
  Endpoint target;
  std::uint16_t source_port = 0;
  std::uint32_t sequence = 0;

  friend bool operator==(const Syn&, const Syn&) = default;
};

// The first segment of a connection in an IP packet without its link header; nothing for any other
// packet. Pure.
[[nodiscard]] std::optional<Syn> ParseSyn(std::string_view packet);

// Filters and binds a socket of AF_PACKET and SOCK_DGRAM.
[[nodiscard]] absl::Status BindSynWatch(int fd);

class SynWatch final : public IoHandler {
 public:
  // `seen` gets the target of each connection; one that is tried again by TCP itself counts once.
  SynWatch(EventLoop& loop, UniqueFd fd, std::function<void(const Endpoint&)> seen);
  ~SynWatch() override;
  SynWatch(const SynWatch&) = delete;
  SynWatch& operator=(const SynWatch&) = delete;

  [[nodiscard]] bool Start();
  void OnIo(std::uint32_t events) override;

 private:
  [[nodiscard]] bool IsAgain(const Syn& syn);

  EventLoop& loop_;
  UniqueFd fd_;
  std::function<void(const Endpoint&)> seen_;
  std::array<Syn, 64> recent_{};
  std::size_t next_recent_ = 0;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_SYN_WATCH_H_
