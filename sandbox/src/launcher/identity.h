// Who the sandbox runs as: its own user namespace, in which only the caller's own user and group
// exist, and no privilege that could come back.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_IDENTITY_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_IDENTITY_H_

#include "launcher/outcome.h"

namespace cordon::launcher {

struct Identity {
  // Effective ids, as the file system and kill(2) see them.
  unsigned uid = 0;
  unsigned gid = 0;
  // Whether the kernel's files in /proc belong to this user, as to real root.
  bool owns_kernel_files = false;
};

// Of this process, outside of any sandbox.
[[nodiscard]] Identity OwnIdentity();

// In a new user namespace: maps `identity` to itself and gives up setgroups(2), which is what the
// kernel asks of the unprivileged (user_namespaces(7)).
[[nodiscard]] int WriteIdMaps(const Identity& identity);

// Empties the bounding set, of what programs may get that are executed from now on. A process that
// may not touch it keeps it, where `must` is false.
[[nodiscard]] int DropBoundingSet(bool must);
// The other four capability sets.
[[nodiscard]] int DropCapabilities();

[[nodiscard]] int SetNoNewPrivileges();

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_IDENTITY_H_
