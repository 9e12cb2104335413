// Host sockets that a profile lists by path: where they are, and whether the path can be trusted.

#ifndef CORDON_SANDBOX_SRC_LISTED_SOCKETS_H_
#define CORDON_SANDBOX_SRC_LISTED_SOCKETS_H_

#include <string>

#include "cordon/sdk/path_policy.h"

namespace cordon::internal {

struct ListedSocket {
  std::string path;     // As the profile has it.
  std::string socket;   // The socket itself, without links; empty when it cannot be shown.
  std::string problem;  // Then why.
};

// Looks `path` up on the host. A link is followed only where `paths` lets no command write: one
// that a command can plant would list whatever socket it likes.
// `has_view`: the sandbox has places of its own over the host's.
[[nodiscard]] ListedSocket FindListedSocket(const PathPolicy& paths, const std::string& path,
                                            bool has_view = true);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LISTED_SOCKETS_H_
