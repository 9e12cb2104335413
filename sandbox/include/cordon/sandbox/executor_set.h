// Executors for one profile: made on demand, one per key, confined by the best tier that this host
// can really build. Owns a launcher process, a private folder per executor and everything that
// runs.

#ifndef CORDON_SANDBOX_EXECUTOR_SET_H_
#define CORDON_SANDBOX_EXECUTOR_SET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/profile.h"

namespace cordon {

// Starts the launcher early, while the process is small; optional, since `ExecutorSet::Create` does
// it otherwise. Safe to call from any thread, any number of times; never fails: what went wrong is
// reported by `Create`.
void Init();

// For programs that are started in a cgroup delegated to them, as by `CORDON_CGROUP_ROOT=own
// systemd-run --user --scope -p Delegate=yes PROGRAM`; without that variable only where it is
// marked as delegated, which a user's systemd does not do. When this process is the only one in it,
// moves it into a new cgroup below, so that those of commands can be beside it
// (`ExecutorSetOptions::cgroup_root`). Changes nothing else, and never fails. Never called by this
// library.
void LeaveDelegatedCgroup();

enum class Backend : std::uint8_t {
  kAuto,        // The best tier whose steps could all be built, really, on this host.
  kNamespaces,  // This tier or none.
  kLandlock,
};

// Makes the authority that signs the grants of one executor, e.g. `NewHmacGrantAuthority` of
// cordon/gate/grants.h.
using GrantAuthorityFactory =
    std::function<absl::StatusOr<std::shared_ptr<GrantAuthority>>(std::string executor_id)>;

struct ExecutorSetOptions {
  // Mandatory: an existing folder for isolated homes and temporary files; the set makes one folder
  // of its own in it, mode 0700, and removes only that.
  std::string scratch_root;
  // Mandatory, at least 1.
  std::size_t max_executors = 0;
  Backend backend = Backend::kAuto;
  // How many sandboxes each executor keeps ready for its next commands, made while others run; 0:
  // none. Each serves one command, with what the profile alone allows; one with file grants waits
  // for its own. A waiting one costs less than 1 MiB of memory and two descriptors, ends after two
  // minutes, and is given up when the profile's paths lead to other objects than when it was made.
  std::size_t ready_sandboxes = 2;
  // A cgroup (cgroups(7), version 2) that was delegated to this program and in which no process is
  // itself, as an absolute path: the limits of each command's whole tree are held there by the
  // kernel. This program must be in a cgroup below it, and nothing else may manage it. "own": the
  // one that this program left by `LeaveDelegatedCgroup`. Empty: what
  // the variable CORDON_CGROUP_ROOT names, else the cgroup above this program's own if it is marked
  // as delegated (systemd does); without any the limits are held by other means, and the report
  // says so. One that is named and cannot be used is kUnavailable.
  std::string cgroup_root = {};
  // A folder, as an absolute path without symbolic links, in which programs of this user keep what
  // they found when they looked below the roots of a profile, so that the next one need only look
  // whether that has changed. It is made when needed, holds a bounded number of files, and stays.
  // It must be this user's alone (mode 0700); where it cannot be had, can be written by commands,
  // or is not to be trusted, everything is looked at as without it. It is hidden from commands.
  // Empty: nothing is kept.
  std::string index_cache = {};
  // Absent: gated commands cannot run.
  GrantAuthorityFactory make_authority;
  // Also list refused paths in `RunResult::denials`, whatever the program says about them, each
  // with the rule and the option that would allow it. Every system call that names a path is looked
  // at before it goes on, which costs it some microseconds, and says which of the refused paths
  // exist on the host. Refused connections are listed without this.
  bool explain_paths = false;
  // Borrowed; must outlive the set. Null: nothing is logged, and a profile that requires an audit
  // log is refused.
  LogSink* log = nullptr;
  // Serves the network of commands whose profile names targets or ports, or gates the network; e.g.
  // `NewEgressProxy` of cordon/net-proxy/proxy.h. Null: a profile that names some is refused, and
  // one that gates the network has none.
  std::shared_ptr<EgressProxy> egress;
  // The commands of one executor share one network while it lives: a server that one of them
  // started is reachable at 127.0.0.1 by the others, and ports are published for all of them. Their
  // policy is the same, and so is what they may reach outside; what a profile only gates is refused
  // there, also where somebody could be asked. A command with grants of its own for files or the
  // network gets a network to itself, so that none of the others meets what it has more. Needs the
  // namespaces tier; without an effect where the profile allows the network.
  bool share_network = false;
  // `Create` does not wait until its first sandbox is complete: the first command does, before its
  // grants are spent, and is refused with kUnavailable where this host cannot make it. A set made
  // without this finds the reason and the next tier then. What `Create` found on the host is not
  // looked at again for a first command that comes within 10 ms. For a program that runs one
  // command, and nothing else in between: what it does until then costs no time.
  bool late_proof = false;
};

// Safe from any thread.
class ExecutorSet {
 public:
  // Starts the launcher, compiles the profile and builds its first sandbox, which proves the tier
  // and serves the first command. Only when that fails is the host probed layer by layer (once per
  // process) for the reason and the next tier. Reads this process's variables (environ(7)), which
  // no other thread may change meanwhile. Fails closed: kUnavailable when no tier, a guarantee that
  // the profile requires, or a setting of the profile can be had, naming the layer and the fix;
  // kInvalidOption for missing options; kInvalidProfile for a default-constructed profile.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ExecutorSet>> Create(
      const Profile& profile, ExecutorSetOptions options);

  // Closes.
  virtual ~ExecutorSet() = default;

  // The executor of `key`, the same for the same key, also for concurrent callers. Keys share
  // nothing but the launcher: each has its own HOME, TMPDIR, grant key and identity. Returns kBusy
  // beyond `max_executors`, kClosed, kInvalidOption for an empty key. A failed construction leaves
  // nothing behind.
  [[nodiscard]] virtual absl::StatusOr<std::shared_ptr<Executor>> For(std::string_view key) = 0;

  // Ends everything that runs, prevents what is prepared from starting, revokes all grants, removes
  // the set's own folder, stops the launcher. Idempotent; concurrent calls return the same status.
  // Returns kInternal when the end of a tree could not be proved or a folder not removed.
  virtual absl::Status Close() = 0;

  // What every executor of this set enforces.
  [[nodiscard]] virtual const CompileReport& Report() const = 0;
};

}  // namespace cordon

#endif  // CORDON_SANDBOX_EXECUTOR_SET_H_
