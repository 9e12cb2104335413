// A network that sandboxes can be started in, one after the other: its namespaces, in a user
// namespace of its own that is the parent of those of the sandboxes, and the process that keeps
// them. The keeper makes sockets there for the host and adds routes; it is in no pid namespace of a
// sandbox, so that none can see or reach it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_NETWORK_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_NETWORK_H_

#include "launcher/fd.h"
#include "launcher/identity.h"

namespace cordon::launcher {

struct NetworkStart {
  int socket = -1;    // Where it serves; see network_protocol.h.
  int launcher = -1;  // pidfd of this program, with which it ends.
  Identity identity;
  // Two namespaces, joined by a veth pair: the sandbox's has a route to the synthetic addresses and
  // no other, all of them are the gateway's own. Else one, in which both addresses of the link are
  // local and nothing can be reached.
  bool with_gateway = false;
};

// Starts the keeper, which goes on by itself. Returns its pidfd, or the errno of clone(2).
[[nodiscard]] Fd BeginNetwork(const NetworkStart& start);

// Makes the calling process, which shares memory with nobody else that could be confused, a member
// of the network namespace `network` and of the user namespace that it belongs to. Returns an
// errno.
[[nodiscard]] int EnterNetwork(int network);

// The user namespace that a network belongs to.
[[nodiscard]] Fd UserNamespaceOf(int network);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_NETWORK_H_
