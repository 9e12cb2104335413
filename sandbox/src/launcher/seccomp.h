#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SECCOMP_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SECCOMP_H_

#include "launcher/plan_reader.h"

namespace cordon::launcher {

// Loads the plan's filter for good (seccomp(2)). Does nothing when there is none. Returns an errno.
[[nodiscard]] int EnterSeccomp(const Plan& plan);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SECCOMP_H_
