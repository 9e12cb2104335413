// The processes of one command, as the host's /proc shows them. Every process that is said to
// belong to it is held by its folder in /proc, which never becomes that of another one.

#ifndef CORDON_SANDBOX_SRC_COMMAND_TREE_H_
#define CORDON_SANDBOX_SRC_COMMAND_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// From /proc/PID/status (proc_pid_status(5)).
struct ProcessStatus {
  pid_t process = 0;  // Tgid: all its threads have this one.
  pid_t parent = 0;
  int filters = -1;   // How many seccomp filters it has; -1 where the kernel does not say.
  mode_t mask = 077;  // umask(2)
};

[[nodiscard]] std::optional<ProcessStatus> ParseProcessStatus(std::string_view text);

// A process or thread, by its folder in /proc (O_PATH): everything that is looked up in there is
// about this one, or fails with ESRCH once it has ended.
struct HeldProcess {
  UniqueFd folder;
  ProcessStatus status;
};

// Nothing when there is none.
[[nodiscard]] std::optional<HeldProcess> HoldProcess(pid_t id);

enum class Kinship : std::uint8_t {
  kStranger,  // Not of this command.
  kOther,     // Of this command.
  kBelow,     // A descendant of the caller.
  kSelf,      // The caller's own process.
};

// Used by one thread at a time.
class CommandTree {
 public:
  // Before the first call is looked at. `first_process` is a pidfd (borrowed) of the supervisor,
  // which is an ancestor of everything in the tree and does not belong to it itself.
  void Begin(int first_process);

  // What the held process is to the held `caller`, whose call still waits. Whoever is a descendant
  // of the supervisor or of the caller while this function runs is one afterwards: processes only
  // ever move up to ancestors. kStranger when nobody can tell.
  [[nodiscard]] Kinship KinshipOf(const HeldProcess& process, const HeldProcess& caller) const;

  // Whether `caller` has exactly the filters that the command was started with: it is in no other
  // sandbox inside of this one, as far as that can be told.
  [[nodiscard]] bool IsPlain(const HeldProcess& caller) const;

  // Whether this kernel says which children a process has (CONFIG_PROC_CHILDREN).
  [[nodiscard]] static bool CanBeListed();
  // The processes below the supervisor; one that ends or starts meanwhile may be missing, and then
  // what is below it. Empty when it has ended.
  [[nodiscard]] std::vector<pid_t> Processes() const;
  // How many threads these have; nothing when the supervisor has ended.
  [[nodiscard]] std::optional<std::uint64_t> CountThreads() const;

 private:
  [[nodiscard]] bool HasEnded() const;
  // Calls `visit` with every process and its threads.
  template <typename Visit>
  void Walk(Visit visit) const;

  struct Supervisor {
    pid_t id = 0;      // 0: it has ended, or cannot be looked at.
    int filters = -1;  // What the command was started with; -1: unknown.
  };

  // Looked at when somebody asks for the first time: few commands make a call about processes.
  [[nodiscard]] const Supervisor& Known() const;
  [[nodiscard]] Supervisor Look() const;

  UniqueFd supervisor_;
  mutable std::once_flag looked_;
  mutable Supervisor known_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_COMMAND_TREE_H_
