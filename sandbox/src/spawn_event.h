// What passes between the host and one spawn, and the names of its steps. Plain data that both the
// library and the launcher (which has no C++ library) include.

#ifndef CORDON_SANDBOX_SRC_SPAWN_EVENT_H_
#define CORDON_SANDBOX_SRC_SPAWN_EVENT_H_

#include <cstdint>

#include "tree_limits.h"

namespace cordon::internal {

// Steps of the set-up, in their order; `Step` and errno come back when one fails.
enum class Step : std::uint8_t {
  kNone,
  kPlan,        // The plan could not be read.
  kNamespaces,  // clone(2)
  kIdMaps,
  kLoopback,
  kNetwork,  // The addresses and routes of a network with a gateway, or entering it.
  kHostName,
  kPropagation,
  kView,  // `detail` names the operation's target.
  kProc,
  kPivot,
  kInit,  // pid 1 and its child
  kTerminal,
  kCapabilities,
  kNoNewPrivileges,
  kLimits,
  kWorkingDirectory,
  kLandlock,
  kSeccomp,
  kExec,  // The command itself could not be executed; `errno` as execve(2).
};

// What the launcher says about one spawn, on the spawn's own channel (SOCK_SEQPACKET), in this
// order: kReady (only from a sandbox that was begun without a command; the pidfd of its first
// process is attached); for a command with a terminal, kTerminal; for a plan that observes,
// kObserved or kUnobserved, which a sandbox that waits says before it has its command (unless it
// `observes_last`); kStarted or
// kFailed; after kStarted exactly one kEnded. End of file without kEnded means that the tree was
// killed from outside. What proves the tree's end is the end of the first process, which outlives
// the others; and before that a kEnded with `nothing_left`.
struct SpawnEvent {
  enum class Kind : std::uint8_t {
    kStarted,
    kFailed,
    kEnded,
    kObserved,    // The listener of the command's calls is attached. They wait until it is served.
    kTerminal,    // The host's side of the command's terminal is attached.
    kUnobserved,  // The kernel refused one, with `error_number`; the command runs all the same.
    kReady,
  };
  Kind kind = Kind::kFailed;
  Step step = Step::kNone;
  TreeLimit ended_by = TreeLimit::kNone;  // Of a kEnded: the limit that ended the tree.
  std::int32_t error_number = 0;
  std::int32_t wait_status = 0;         // Of the command, as wait(2).
  std::uint64_t wall_microseconds = 0;  // From the command's start to its end.
  std::uint64_t cpu_microseconds = 0;   // User and system, whole tree.
  std::uint64_t max_rss_bytes = 0;
  std::uint32_t left_running = 0;  // Whether others of the tree still ran when the command ended.
  // Of a kEnded: the first process, whose child each orphan of the tree becomes, has none any more.
  // Its own end takes longer (the kernel unmounts a view first), and makes no difference to
  // anybody.
  std::uint32_t nothing_left = 0;
  std::uint32_t reserved = 0;
  char detail[128] = {};
};

// The first message to a sandbox that was begun without a command; the command's block follows this
// record. Descriptors: input, output, error, and, when `inline_bytes` is 0, a memory file with the
// block in the place of what follows.
struct SpawnCommand {
  std::uint32_t inline_bytes = 0;
  std::uint32_t reserved = 0;  // So that what follows is aligned to 8.
};

// How long a sandbox waits for its command before it ends by itself. Nobody may send one to a
// sandbox that has waited for half of that, so that no command is lost.
inline constexpr std::uint32_t kReadySandboxSeconds = 120;

// What may be sent to pid 1 of a spawn on the same channel: deliver `signal` to every process of
// the tree but pid 1 (0: to none). Closing the channel kills the tree. An event descriptor
// (eventfd(2)) that is attached is written to after a kEnded with `nothing_left`.
struct SpawnControl {
  std::int32_t signal = 0;
  // When not 0, pid 1 itself kills the tree this much later, also when nobody is waiting; the first
  // such deadline stands. What was killed like that still ends with a kEnded.
  std::uint32_t kill_after_milliseconds = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SPAWN_EVENT_H_
