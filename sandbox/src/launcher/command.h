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

// What the first process does while the command's, its child, confines itself. If one of them
// fails nothing runs.
struct CallersPart {
  Outcome (*enter_view)(const Spawn&);  // The child opens nothing before that.
  Outcome (*finish)(const Spawn&);      // Nothing that is not ours runs before that.
};

// Starts it and returns once it runs, or once a step on the way has failed. Without a command the
// child waits for one when the caller has done its part (ready.h), and the caller with it.
[[nodiscard]] StartedCommand StartCommand(Spawn& spawn, const CallersPart& part);

// Takes all rights from the calling process, for good, unless the plan confines nobody.
[[nodiscard]] Outcome GiveUpPrivileges(const Spawn& spawn);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
