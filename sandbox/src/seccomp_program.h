// The system call filter of every confined command (design section 6), compiled once in the host.

#ifndef CORDON_SANDBOX_SRC_SECCOMP_PROGRAM_H_
#define CORDON_SANDBOX_SRC_SECCOMP_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace cordon::internal {

// What a filter is for. The default is that of the namespaces tier.
struct FilterUse {
  // The landlock tier: nothing but rules stands between the command and the host.
  bool on_host = false;
  // With `on_host`: sockets of the internet families may be made.
  bool network = false;
  // With `on_host`: calls that change the mode or times of a file are not refused here, since
  // another filter hands them over. Never without that one.
  bool mediated_metadata = false;
  // Not with `on_host`: the calls of debuggers. Processes that they must not reach are for the pid
  // namespace and Landlock to keep apart.
  bool tracing = false;
  // Not with `on_host`: user namespaces, and pid, network and ipc namespaces and other roots
  // inside of them. Mounting stays closed, so that no view is ever changed.
  bool nested_namespaces = false;
  // With `on_host`: only sockets of TCP may be made, and none of them listens or is connected by
  // anything but connect(2), which Landlock refuses: see led_connection.h.
  bool led_connections = false;

  // With `led_connections`: stream sockets of unix may be made, bound and listen, since another
  // filter hands listen(2) and connect(2) over. Never without that one.
  bool unix_sockets = false;

  friend bool operator==(const FilterUse&, const FilterUse&) = default;
};

// An array of struct sock_filter, for `SandboxPlan::seccomp_program`. Returns kUnavailable on an
// architecture that it does not know.
[[nodiscard]] absl::StatusOr<std::string> CompileSeccompProgram(const FilterUse& use = {});

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SECCOMP_PROGRAM_H_
