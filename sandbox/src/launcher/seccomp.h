#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SECCOMP_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SECCOMP_H_

#include "launcher/fd.h"
#include "launcher/plan_reader.h"

namespace cordon::launcher {

// Loads the plan's filter for good (seccomp(2)). Does nothing when there is none. Returns an errno.
[[nodiscard]] int EnterSeccomp(const Plan& plan);

// Loads the plan's second filter, whose calls wait for whoever has the listener. It has no effect
// on what the first one refuses. Returns the listener, or the errno with which there is none.
[[nodiscard]] Fd EnterObservation(const Plan& plan);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SECCOMP_H_
