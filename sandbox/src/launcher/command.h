// The command itself: the child of the sandbox's first process that becomes it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_

#include <cstdint>

#include "launcher/outcome.h"
#include "launcher/spawn.h"

namespace cordon::launcher {

struct StartedCommand {
  Outcome outcome;
  int pid = 0;
  std::uint64_t started_microseconds = 0;
};

// Starts it and returns once it runs, or once a step on the way has failed. The caller does
// `meanwhile` while the child prepares itself; nothing runs if that fails. Without a command the
// child waits for one after that (ready.h), and the caller with it.
[[nodiscard]] StartedCommand StartCommand(Spawn& spawn, Outcome (*meanwhile)(const Spawn&));

// Takes all rights from the calling process that a plan of this kind leaves nobody.
[[nodiscard]] Outcome GiveUpPrivileges(const Spawn& spawn);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
