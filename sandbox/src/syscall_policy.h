// Which system calls a confined command may make. Every call that libseccomp knows is in exactly
// one of the lists; what is in none gets ENOSYS, as on a kernel that does not have it.

#ifndef CORDON_SANDBOX_SRC_SYSCALL_POLICY_H_
#define CORDON_SANDBOX_SRC_SYSCALL_POLICY_H_

#include <span>

namespace cordon::internal {

// Calls whose arguments decide.
enum class ArgumentCheck {
  kClone,        // No CLONE_NEW*: a new user namespace would bring capabilities back.
  kUnshare,      // The same.
  kSocket,       // unix, TCP and UDP over IP, route netlink; nothing raw, no other protocol.
  kSocketPair,   // unix only.
  kIoctl,        // Nothing that types into a terminal: TIOCSTI, TIOCLINUX.
  kPersonality,  // Address randomisation and names; not READ_IMPLIES_EXEC.
};

struct CheckedCall {
  const char* name;
  ArgumentCheck check;
};

struct RefusedCall {
  const char* name;
  int error_number;
};

[[nodiscard]] std::span<const char* const> AllowedCalls();
[[nodiscard]] std::span<const RefusedCall> RefusedCalls();
[[nodiscard]] std::span<const CheckedCall> CheckedCalls();

// The number of a call on `architecture` (SCMP_ARCH_*), also of those newer than libseccomp;
// negative when the architecture does not have it or nobody knows it.
[[nodiscard]] int CallNumber(const char* name, unsigned architecture);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SYSCALL_POLICY_H_
