// A sandbox that is complete but for its command. Its first process is suspended until the command
// runs; the child that will become the command, already confined, waits for it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_READY_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_READY_H_

#include "launcher/outcome.h"
#include "launcher/spawn.h"

namespace cordon::launcher {

// Closes every descriptor but 0-2, the channel, the launcher's pidfd and, for `AwaitCommand`, one
// of this process, the first one, and moves those to where they are out of the way of what will be
// received.
void HoldOnlyWhatWaitingNeeds(Spawn* spawn);

// Says that all is ready, in the child, which keeps its channel and the launcher's pidfd alone.
// Returns an errno.
[[nodiscard]] int ReportReady(Spawn* spawn);

// Waits for the one command, which goes into `spawn`. Fails when none can come any more, or none
// came in time.
[[nodiscard]] Outcome AwaitCommand(Spawn* spawn);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_READY_H_
