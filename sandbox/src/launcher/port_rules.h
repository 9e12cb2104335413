// The packet rules of a gateway (nf_tables, by netlink: no program is needed).

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_PORT_RULES_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_PORT_RULES_H_

#include <cstdint>

#include "launcher/route_socket.h"

namespace cordon::launcher {

// In the network namespace of the caller: TCP connections that arrive by the interface `index`, to
// whatever address and port, are for the transparent socket that listens at `port`, if there is
// one; connections to `except` are not. Atomic. Returns an errno: EEXIST where it was done before,
// EOPNOTSUPP or ENOENT where the kernel has no such rules.
[[nodiscard]] int LeadEveryPortTo(std::uint16_t port, int index, const IpPrefix& except);

// Lets `socket` (IPv6, else IPv4) answer for addresses that are not its own. Returns an errno.
[[nodiscard]] int MakeTransparent(int socket, bool is_v6);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_PORT_RULES_H_
