// Which system calls a confined command may make. Every call that libseccomp knows is in exactly
// one of the lists; what is in none gets ENOSYS, as on a kernel that does not have it.

#ifndef CORDON_SANDBOX_SRC_SYSCALL_POLICY_H_
#define CORDON_SANDBOX_SRC_SYSCALL_POLICY_H_

#include <span>

namespace cordon::internal {

// Calls whose arguments decide.
enum class ArgumentCheck {
  kClone,        // No CLONE_NEW*: a new user namespace would bring capabilities back. Where
                 // nested namespaces are open: user, pid, net, ipc.
  kUnshare,      // The same.
  kSocket,       // unix, TCP and UDP over IP, route netlink; nothing raw, no other protocol.
  kSocketPair,   // unix only.
  kIoctl,        // Nothing that types into a terminal: TIOCSTI, TIOCLINUX.
  kPersonality,  // Address randomisation and names; not READ_IMPLIES_EXEC.
  // Where nothing but rules stands between the command and the host (the landlock tier):
  kNetworkSocket,  // As kSocket without unix: connect(2) to a host's socket could not be told
                   // apart.
  kTcpSocket,      // TCP over IP alone; unix streams, too, where they are mediated.
  kMediatedUnix,   // What only works on unix sockets then, and is refused otherwise.
  kPlainSend,      // Argument 3: no MSG_FASTOPEN, which connects.
  kPlainMessage,   // Argument 2: the same.
  kPlainOption,    // setsockopt(2) that neither turns a TCP socket into another kind (TCP_ULP) nor
                   // leads its packets elsewhere.
  kBoundPair,      // unix pairs of which neither end can be given another address.
  kOwnProcess,     // Argument 0, a process, is 0: the caller itself.
  kOwnPriority,    // setpriority(2) of the caller or its process group.
  kOwnIoPriority,  // ioprio_set(2), the same.
  kFileIoctl,  // As kIoctl, and nothing that changes a file by a descriptor that only reads it, or
               // asks for the devices and addresses of a network that is closed.
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

// What the landlock tier decides differently: there the command shares the host's processes, IPC
// and network, and Landlock covers neither the metadata of files nor unix sockets by path.
[[nodiscard]] std::span<const RefusedCall> RefusedOnHost();
[[nodiscard]] std::span<const CheckedCall> CheckedOnHost();
// What is decided differently again where connections are led to a proxy (led_connection.h).
[[nodiscard]] std::span<const CheckedCall> CheckedWhenLed();
// Those that change the mode, owner or times of a file.
[[nodiscard]] std::span<const char* const> MetadataCalls();

// What a profile that acknowledges it opens: what a debugger needs, and where a browser puts its
// processes.
[[nodiscard]] std::span<const char* const> TracingCalls();
[[nodiscard]] std::span<const char* const> NestedNamespaceCalls();

// The number of a call on `architecture` (SCMP_ARCH_*), also of those newer than libseccomp;
// negative when the architecture does not have it or nobody knows it.
[[nodiscard]] int CallNumber(const char* name, unsigned architecture);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SYSCALL_POLICY_H_
