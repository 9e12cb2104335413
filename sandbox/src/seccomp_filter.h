// The system call filter of a confined command, made in the host and loaded in the sandbox.

#ifndef CORDON_SANDBOX_SRC_SECCOMP_FILTER_H_
#define CORDON_SANDBOX_SRC_SECCOMP_FILTER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "seccomp_program.h"

namespace cordon::internal {

// SCMP_ARCH_* of this build.
[[nodiscard]] std::uint32_t NativeArchitecture();

// The filter of syscall_policy.h for `architecture` (SCMP_ARCH_X86_64 or SCMP_ARCH_AARCH64) as an
// array of struct sock_filter. Calls by another ABI (i386, x32, 32-bit arm) kill the process.
// Returns kInternal when the lists contradict each other.
//
// It decides by a binary search over ranges of numbers instead of libseccomp's one comparison per
// call: the kernel checks and compiles a filter anew in each spawn, and that costs in proportion to
// its length (here about a third).
[[nodiscard]] absl::StatusOr<std::string> BuildSeccompProgram(std::uint32_t architecture,
                                                              const FilterUse& use = {});

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SECCOMP_FILTER_H_
