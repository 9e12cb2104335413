// A pseudo-terminal for one command.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_TERMINAL_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_TERMINAL_H_

#include "launcher/fd.h"
#include "launcher/outcome.h"
#include "launcher/spawn.h"

namespace cordon::launcher {

// Makes one in the view's own devpts, with the size that the command asks for, and hands the host
// its side of it. `end` becomes the command's side.
[[nodiscard]] Outcome MakeTerminal(const Spawn& spawn, Fd* end);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_TERMINAL_H_
