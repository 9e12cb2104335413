// What the library and the keeper of a sandbox's network say to each other on their own socket
// (SOCK_SEQPACKET). The keeper speaks first: one `NetworkReply` when the namespaces are ready or a
// step has failed. After that one request, one reply, never two at a time; end of file ends it.

#ifndef CORDON_SANDBOX_SRC_NETWORK_PROTOCOL_H_
#define CORDON_SANDBOX_SRC_NETWORK_PROTOCOL_H_

#include <cstdint>

#include "spawn_event.h"

namespace cordon::internal {

// Where the socket for every port listens: a number that no target has in practice, and that leads
// to the same decisions when it is connected to.
inline constexpr std::uint16_t kEveryPortListener = 1;

struct NetworkRequest {
  enum class Kind : std::uint32_t {
    kSocket,              // `side`, `family`, `type`
    kSocketForEveryPort,  // `family`
    kRoute,               // `family`, `prefix_length`, `address`
  };
  Kind kind = Kind::kSocket;
  std::uint8_t is_gateway = 0;  // Else the sandbox's side.
  std::uint8_t family = 0;      // AF_INET or AF_INET6
  std::uint8_t type = 0;        // SOCK_STREAM or SOCK_DGRAM
  std::uint8_t prefix_length = 0;
  std::uint8_t address[16] = {};  // In network order; IPv4 takes the first four.
};

// The first one has the sandbox's network namespace attached, one to a request for a socket that.
struct NetworkReply {
  Step step = Step::kNone;
  std::uint8_t reserved[3] = {};
  std::int32_t error_number = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_NETWORK_PROTOCOL_H_
