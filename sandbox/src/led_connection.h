// Connects sockets of a command to its egress proxy, where the command itself may connect none (the
// landlock tier): the kernel refuses every connect(2) of its own, and this program, which is not
// under its rules, makes the connection. Always to that proxy: what the command asked for is only
// told to it, so that nothing but the target that is asked for depends on what the command's memory
// says while it is looked at, and the proxy decides about that one.

#ifndef CORDON_SANDBOX_SRC_LED_CONNECTION_H_
#define CORDON_SANDBOX_SRC_LED_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "cordon/sdk/egress.h"
#include "observed_target.h"

namespace cordon::internal {

// Used by one thread.
class LedConnections {
 public:
  // Once `door` is gone everything is refused.
  explicit LedConnections(std::weak_ptr<EgressDoor> door) : door_(std::move(door)) {}

  // Connects `socket`, a copy of a descriptor of the command, as if to `to`. Returns what
  // connect(2) is to return there: 0 or an errno, EACCES for what is no TCP socket. A blocking
  // socket is waited for kPatience at most, and no longer once several were refused for that.
  [[nodiscard]] int Connect(int socket, const ObservedAddress& to);

  static constexpr std::chrono::milliseconds kPatience{100};
  static constexpr int kMostWaits = 8;

 private:
  [[nodiscard]] int ConnectAsSaid(int socket, EgressDoor& door, const ObservedAddress& to);
  [[nodiscard]] int Finish(int socket, std::uint16_t port);
  [[nodiscard]] int Await(int socket, std::uint16_t port);

  const std::weak_ptr<EgressDoor> door_;
  int refused_waits_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LED_CONNECTION_H_
