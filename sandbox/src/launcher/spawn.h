// One spawn: from a plan, a command and four descriptors to a running sandbox.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SPAWN_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SPAWN_H_

#include "launcher/fd.h"
#include "launcher/identity.h"
#include "launcher/plan_reader.h"
#include "launcher/view_template.h"

namespace cordon::launcher {

struct Spawn {
  Plan plan;
  Command command;  // Absent (a null header): the sandbox is made and waits for it.
  int standard[3] = {-1, -1, -1};
  int channel = -1;
  int network = -1;                    // The namespace to start in; else one of its own, if any.
  const ViewTemplate* view = nullptr;  // Of the plan and the network, to start from,
  const SpareParts* spare = nullptr;   // with what was made ahead, if it was.
  int view_copy = -1;                  // Of its tree, once it was entered.
  int ruleset = -1;                    // Landlock's, of the plan, where that has been made.
  int first_process = -1;              // Its pidfd, in a sandbox that waits for its command.
  bool listener_is_given = false;      // Of its calls, to the host, while it waits.
  int cgroup = -1;                     // The cgroup to start in; else this program's.
  int cpu_time = -1;                   // cpu.stat of that cgroup, in the first process.
  int launcher = -1;                   // pidfd of this program.
  unsigned file_mode_mask = 022;       // umask(2) for the command.
  Identity identity;
};

// Makes the first process of the sandbox, which goes on by itself. Returns its pidfd, or the errno
// of clone(2) or of the way into the network or the template.
[[nodiscard]] Fd Begin(const Spawn& spawn);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SPAWN_H_
