// Connections to a door that were announced: which source port is on its way to where. Belongs to
// the loop's thread.

#ifndef CORDON_NET_PROXY_SRC_EXPECTED_CONNECTIONS_H_
#define CORDON_NET_PROXY_SRC_EXPECTED_CONNECTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "endpoint.h"
#include "event_loop.h"

namespace cordon::internal::egress {

class ExpectedConnections {
 public:
  // In the place of what was expected from there before. False when too many are on their way.
  [[nodiscard]] bool Add(std::uint16_t source_port, const Endpoint& to, SteadyTime now);
  void Remove(std::uint16_t source_port) { expected_.erase(source_port); }

  // Where the connection from `peer` was to go, once; nothing when nobody expects it.
  [[nodiscard]] std::optional<Endpoint> Take(const Endpoint& peer, SteadyTime now);

  [[nodiscard]] std::size_t size() const { return expected_.size(); }

  static constexpr std::size_t kMost = 4096;
  // At the loopback it takes microseconds; longer only while the door is full. A socket that was
  // closed before it got through leaves its entry behind for that long.
  static constexpr std::chrono::seconds kPatience{30};

 private:
  struct Expected {
    Endpoint to;
    SteadyTime since;
  };
  std::unordered_map<std::uint16_t, Expected> expected_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_EXPECTED_CONNECTIONS_H_
