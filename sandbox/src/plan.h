// What the launcher is told to do, as plain data: a compiled policy becomes a `SandboxPlan` once,
// and each command adds a `CommandPlan`. The launcher performs a plan and decides nothing.

#ifndef CORDON_SANDBOX_SRC_PLAN_H_
#define CORDON_SANDBOX_SRC_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::internal {

// One step of building the mount view. Steps are performed in order, inside the new mount
// namespace, on a fresh tmpfs that becomes the root. `target` is an absolute path of the view;
// missing parent folders are made (0755) where the view is still its own tmpfs. Neither `source`
// nor `target` is ever resolved through a symbolic link (openat2 with RESOLVE_NO_SYMLINKS, targets
// beneath the view): the planner resolves links and makes them anew with kSymlink.
struct ViewOp {
  enum class Kind : std::uint8_t {
    kDir,      // A folder with `mode`.
    kFile,     // A file with `mode` and `data` as its content; owned by the caller.
    kSymlink,  // A link whose text is `data`.
    kBind,     // The host's `source` at `target`, with all mounts below it.
    kProtect,  // What is at `target` now, mounted over itself read-only; its mount also keeps it
               // from being renamed or removed.
    kMask,     // An empty, mode 000, read-only folder or file (as the target is) over `target`.
    kTmpfs,    // A tmpfs with `mode` and `size_bytes` (0: the kernel's default).
    kPin,   // Keeps the folder `target` from being renamed, replaced or removed, without making it
            // a mount of its own for path look-ups: something is mounted on the same dentry in a
            // second, hidden bind of the root `source` (a writable root of the view). Renames and
            // hard links across `target` still work (rename(2): EXDEV compares mounts, EBUSY asks
            // whether the dentry is a mount point anywhere in the namespace).
    kProc,  // proc of the new pid namespace, dangerous parts masked, /proc/sys read-only.
    kDev,   // The minimal /dev: null, zero, full, random, urandom, tty, fd, stdin, stdout, stderr,
            // ptmx with an own devpts, shm.
    kSocket,  // The host's unix socket `source` at `target`.
  };

  Kind kind = Kind::kDir;
  std::string target;
  std::string source;  // kBind, kPin, kSocket.
  std::string data;    // kFile, kSymlink.
  std::uint32_t mode = 0755;
  std::uint64_t size_bytes = 0;
  bool read_only = false;    // kBind, kTmpfs.
  bool executable = true;    // kBind, kTmpfs; else noexec.
  bool optional = false;     // A missing source or target skips the step instead of failing it.
  std::uint64_t device = 0;  // kBind: refuse (ESTALE) when the source is another object; 0: any.
  std::uint64_t inode = 0;
};

// A Landlock rule on a path of the view. `access` are LANDLOCK_ACCESS_FS_* bits, already cut down
// to what is handled; rights that do not apply to a file are dropped for files.
struct LandlockRule {
  std::string path;
  std::uint64_t access = 0;
  bool optional = false;
};

struct ResourceLimit {
  int resource = 0;  // RLIMIT_*
  std::uint64_t value = 0;
};

// Everything about a sandbox that does not change from command to command.
struct SandboxPlan {
  // False for `Isolation::kUnconfined`: no namespaces, view, Landlock or seccomp, capabilities as
  // the caller has them; `view`, `landlock_*` and `seccomp_program` are ignored and every path is
  // the host's. The rest is the same: clean descriptors and signal state, `limits`, and a
  // supervisor in the place of pid 1, which is a child subreaper (prctl(2)) in a session of its own
  // and, when the command has ended or it is told to, kills and reaps all its descendants.
  bool confined = true;
  bool host_network = false;  // Else a network namespace of its own with only its loopback.
  std::string host_name = "cordon";
  std::vector<ViewOp> view;
  std::uint64_t landlock_handled_fs = 0;  // 0: no Landlock.
  std::uint64_t landlock_scoped = 0;
  std::vector<LandlockRule> landlock_rules;
  std::string seccomp_program;  // An array of struct sock_filter; never empty in a real plan.
  std::vector<ResourceLimit> limits;
};

// One command in a sandbox.
struct CommandPlan {
  std::vector<std::string> argv;         // argv[0] without a slash is looked up in PATH, inside.
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::string working_directory;         // A path of the view.
  std::vector<ViewOp> extra_view;        // After the plan's own, e.g. from grants.
  std::vector<LandlockRule> extra_landlock_rules;
};

// Steps of the set-up, in their order; `Step` and errno come back when one fails.
enum class Step : std::uint8_t {
  kNone,
  kPlan,        // The plan could not be read.
  kNamespaces,  // clone3
  kIdMaps,
  kLoopback,
  kPropagation,
  kView,  // `detail` names the operation's target.
  kPivot,
  kProc,
  kInit,  // pid 1 and its child
  kLimits,
  kCapabilities,
  kNoNewPrivileges,
  kLandlock,
  kSeccomp,
  kWorkingDirectory,
  kExec,  // The command itself could not be executed; `errno` as execve(2).
};

// What the launcher says about one spawn, on the spawn's own channel (SOCK_SEQPACKET), in this
// order: kStarted or kFailed, then after kStarted exactly one kEnded. End of file without kEnded
// means that the tree was killed from outside.
struct SpawnEvent {
  enum class Kind : std::uint8_t { kStarted, kFailed, kEnded };
  Kind kind = Kind::kFailed;
  Step step = Step::kNone;
  std::int32_t error_number = 0;
  std::int32_t wait_status = 0;         // Of the command, as wait(2).
  std::uint64_t wall_microseconds = 0;  // From the command's start to its end.
  std::uint64_t cpu_microseconds = 0;   // User and system, whole tree.
  std::uint64_t max_rss_bytes = 0;
  char detail[128] = {};
};

// What may be sent to pid 1 of a spawn on the same channel: deliver `signal` to every process of
// the tree but pid 1 (0: to none). Closing the channel kills the tree.
struct SpawnControl {
  std::int32_t signal = 0;
  // When not 0, pid 1 itself kills the tree this much later, also when nobody is waiting; the first
  // such deadline stands. What was killed like that still ends with a kEnded.
  std::uint32_t kill_after_milliseconds = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAN_H_
