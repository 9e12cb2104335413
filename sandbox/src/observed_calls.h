// Which system calls of a command the host looks at before they go on, and what their arguments
// mean (seccomp_unotify(2)). All of them go on, but for those that connect in the landlock tier.

#ifndef CORDON_SANDBOX_SRC_OBSERVED_CALLS_H_
#define CORDON_SANDBOX_SRC_OBSERVED_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace cordon::internal {

enum class CallKind : std::uint8_t {
  kConnect,       // Also a sendto(2) that connects (MSG_FASTOPEN).
  kOpen,          // What it wants is in its flags.
  kOpenHow,       // openat2(2): the flags are behind a pointer.
  kCreateFile,    // creat(2)
  kCreateName,    // A name that must not exist yet: mkdir, mknod, symlink.
  kRemove,        // unlink, rmdir
  kRename,        // Two paths.
  kLink,          // Two paths; the first one stays.
  kChange,        // Content or metadata of what exists: truncate, chmod, chown, utimens.
  kChangeNoLink,  // The same, and a symbolic link itself is meant.
  kExecute,
  kEnter,  // chdir(2)
};

// Places of arguments; -1: there is none, and paths start at the current folder.
struct ObservedCall {
  const char* name = nullptr;
  CallKind kind = CallKind::kConnect;
  std::int8_t folder = -1;
  std::int8_t path = -1;
  std::int8_t flags = -1;  // kOpen: open flags; else AT_* flags.
  std::int8_t second_folder = -1;
  std::int8_t second_path = -1;
};

struct ObservedScope {
  bool connects = false;
  bool paths = false;
  bool metadata = false;  // `MetadataCalls`, which never go on; see MetadataMediator.
  // `NameCalls`, and `OpenCalls` that write or do not start at an open folder; see ProcessFiles,
  // NameMediator.
  bool names = false;
  bool reads = false;         // With `names`: all of `OpenCalls`.
  bool unix_sockets = false;  // connect and listen, which never go on; see UnixMediator.
  bool forks = false;         // `ForkCalls`; see ForkLimit.

  [[nodiscard]] bool any() const {
    return connects || paths || metadata || names || unix_sockets || forks;
  }
};

// The filter that hands over the calls of `scope` and allows everything else, as an array of struct
// sock_filter for `architecture` (SCMP_ARCH_*). It is loaded beside the one that refuses, which
// goes first. Empty for an empty scope.
[[nodiscard]] std::string BuildObserverProgram(std::uint32_t architecture,
                                               const ObservedScope& scope);

// What call `number` of this build's architecture is; null for one that is not observed.
[[nodiscard]] const ObservedCall* FindObservedCall(int number);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OBSERVED_CALLS_H_
