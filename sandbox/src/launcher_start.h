// How the launcher program comes to run: no fork of the caller, nothing inherited, and no child of
// the caller that its SIGCHLD handling or wait(2) could see.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_START_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_START_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// The program, an ELF file.
[[nodiscard]] std::string_view LauncherProgram();

struct StartedLauncher {
  UniqueFd socket;  // SOCK_SEQPACKET; see launcher_protocol.h.
  UniqueFd pidfd;
};

// Where the program's image is executed from.
enum class LauncherImage { kMemory, kFile };

// From a sealed memory file, or from a file of mode 0700 in `directory` that is removed before this
// returns. Returns kUnavailable with the errno when that is refused. The program is a grandchild
// whose parent has ended, so that the caller's wait(2) does not know it (a child without an exit
// signal gets SIGCHLD back when it executes a program: execve(2)). Init or the nearest subreaper
// reaps it; the caller does where it is one of these. A short-lived program under an init that
// never reaps should therefore make itself a subreaper (PR_SET_CHILD_SUBREAPER).
[[nodiscard]] absl::StatusOr<StartedLauncher> StartLauncher(LauncherImage image,
                                                            const std::string& directory);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_START_H_
