// What the launcher is told to do, as plain data: a compiled policy becomes a `SandboxPlan` once,
// and each command adds a `CommandPlan`. The launcher performs a plan and decides nothing.

#ifndef CORDON_SANDBOX_SRC_PLAN_H_
#define CORDON_SANDBOX_SRC_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spawn_event.h"
#include "tree_limits.h"
#include "view_op_kind.h"

namespace cordon::internal {

// One step of building the mount view. Steps are performed in order, inside the new mount
// namespace, on a fresh tmpfs that becomes the root. `target` is an absolute path of the view;
// missing parent folders are made (0755) where the view is still its own tmpfs. Neither `source`
// nor `target` is ever resolved through a symbolic link (openat2 with RESOLVE_NO_SYMLINKS, targets
// beneath the view): the planner resolves links and makes them anew with kSymlink.
struct ViewOp {
  using Kind = ViewOpKind;

  Kind kind = Kind::kDir;
  std::string target;
  std::string source;  // kBind, kPin, kSocket.
  std::string data;    // kFile, kSymlink.
  std::uint32_t mode = 0755;
  std::uint64_t size_bytes = 0;
  bool read_only = false;  // kBind, kTmpfs.
  bool executable = true;  // kBind, kTmpfs; else noexec.
  bool optional = false;   // A missing source or target skips the step instead of failing it.
  // kBind, kSocket: refuse (ESTALE) when the source is another object; kProtect, kMask, kPin: when
  // the target is. Both 0: any.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const ViewOp&, const ViewOp&) = default;
};

// A Landlock rule on a path of the view. `access` are LANDLOCK_ACCESS_FS_* bits, already cut down
// to what is handled; rights that do not apply to a file are dropped for files.
struct LandlockRule {
  std::string path;
  std::uint64_t access = 0;
  bool optional = false;
  std::uint64_t device = 0;  // Refuse (ESTALE) when the path is another object; both 0: any.
  std::uint64_t inode = 0;

  friend bool operator==(const LandlockRule&, const LandlockRule&) = default;
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
  // False for the landlock tier: no namespaces and no view, every path is the host's, and the
  // supervisor is the one described above; everything else as for a confined plan. `view` is
  // ignored.
  bool namespaces = true;
  bool host_network = false;  // Else a network namespace of its own with only its loopback.
  std::string host_name = "cordon";
  std::vector<ViewOp> view;
  std::uint64_t landlock_handled_fs = 0;   // 0: no Landlock.
  std::uint64_t landlock_handled_net = 0;  // LANDLOCK_ACCESS_NET_*; no port is ever allowed.
  std::uint64_t landlock_scoped = 0;
  std::vector<LandlockRule> landlock_rules;
  std::string seccomp_program;  // An array of struct sock_filter; never empty in a real plan.
  // Another one, whose listener goes to the host (SpawnEvent::kObserved); empty: nothing is
  // watched.
  std::string observer_program;
  // The command is not confined without that listener, and so not started.
  bool must_observe = false;
  // It watches nothing that the set-up itself does after seccomp: is entered beside that program,
  // and not last.
  bool observes_early = false;
  // It watches what the last steps of the set-up do, which nobody can look into: is entered right
  // before the command is executed, also where that was waited for.
  bool observes_last = false;
  std::vector<ResourceLimit> limits;
  // How many threads the command's tree may have, as a limit of its pid namespace, which must be
  // known to keep one (`Launcher::CheckProcessLimit`); 0: none. With namespaces only.
  std::uint64_t process_limit = 0;
  TreeLimits watched;
  // Absolute host paths that must not exist when a command of this plan has ended. Removed when the
  // process that is served dies while one runs; else that is the library's business.
  std::vector<std::string> absent;
};

// One command in a sandbox.
struct CommandPlan {
  std::vector<std::string> argv;         // argv[0] without a slash is looked up in PATH, inside.
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::string working_directory;         // A path of the view.
  std::vector<ViewOp> extra_view;        // After the plan's own, e.g. from grants.
  std::vector<LandlockRule> extra_landlock_rules;
  // Makes a terminal of this size, as its three streams and its controlling terminal, whose other
  // side goes to the host (SpawnEvent::kTerminal). Both 0: it has the streams that it is given.
  std::uint16_t terminal_rows = 0;
  std::uint16_t terminal_columns = 0;
};

// A stable lower-case name for reports and errors, e.g. "id maps".
[[nodiscard]] std::string_view StepName(Step step);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PLAN_H_
