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

// Starts it and returns once it runs, or once a step on the way has failed. Without a command the
// child does what it can do already and waits for one (ready.h), and the caller with it.
[[nodiscard]] StartedCommand StartCommand(Spawn& spawn);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
