// The command itself: the child of the sandbox's first process that becomes it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_

#include "launcher/outcome.h"
#include "launcher/spawn.h"

namespace cordon::launcher {

// Starts it and returns once it runs, with its pid, or once a step on the way has failed.
[[nodiscard]] Outcome StartCommand(const Spawn& spawn, int* pid);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
