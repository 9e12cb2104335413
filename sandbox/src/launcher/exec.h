#ifndef CORDON_SANDBOX_SRC_LAUNCHER_EXEC_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_EXEC_H_

#include "launcher/plan_reader.h"

namespace cordon::launcher {

// Becomes the command, or returns the errno, as execvp(3) does: a name without a slash is looked up
// in the PATH of the command's own environment (the last one that it names; without any: ENOENT),
// EACCES is reported only when nothing else was found, and a text file without "#!" is run by
// /bin/sh.
[[nodiscard]] int Execute(const Command& command);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_EXEC_H_
