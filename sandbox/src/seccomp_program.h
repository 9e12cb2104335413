// The system call filter of every confined command (design section 6), compiled once in the host.

#ifndef CORDON_SANDBOX_SRC_SECCOMP_PROGRAM_H_
#define CORDON_SANDBOX_SRC_SECCOMP_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace cordon::internal {

// An array of struct sock_filter, for `SandboxPlan::seccomp_program`. Returns kUnavailable on an
// architecture that it does not know.
[[nodiscard]] absl::StatusOr<std::string> CompileSeccompProgram();

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SECCOMP_PROGRAM_H_
