// What one command was refused, found out by looking at its system calls: connections that lead
// nowhere in the sandbox, sockets and, when asked for, paths. Nothing is decided here; a command
// that hides from it only keeps its own refusals out of the list. In the landlock tier its sockets
// are connected here to its proxy, and to nothing else.

#ifndef CORDON_SANDBOX_SRC_OBSERVATION_H_
#define CORDON_SANDBOX_SRC_OBSERVATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caller.h"
#include "cordon/sdk/denial.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "led_connection.h"
#include "mount_table.h"
#include "observed_calls.h"
#include "observed_target.h"
#include "observer.h"
#include "refusals.h"
#include "view_place.h"

namespace cordon::internal {

struct ObservationInputs {
  Profile profile;
  PathPolicy paths;  // With the command's grants.
  std::vector<ConsumedGrant> grants;
  // The command sees the host's own folders, and Landlock ends what it may do in them.
  bool on_host = false;
  std::vector<std::string> own_folders = {};  // On the host, those that are the command's.
  std::weak_ptr<EgressDoor> door = {};        // On the host, to the command's proxy, if it has one.
  bool has_door = false;
  // Paths, too; else calls with paths are handed over for somebody else.
  bool lists_paths = false;
};

class Observation final : public CallHandler {
 public:
  explicit Observation(ObservationInputs inputs)
      : inputs_(std::move(inputs)), connections_(inputs_.door) {}

  // Every call goes on, but for connects in the landlock tier where the network is not open.
  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

  // Lists the host's socket at `place`, which somebody else refused. On the thread of `OnCall`.
  void OnRefusedSocket(const std::string& place);

  // Safe from any thread.
  [[nodiscard]] std::vector<Denial> Denials() const { return refusals_.All(); }
  // Says what is missing in the list; nothing when it is complete.
  [[nodiscard]] std::optional<ReportEntry> Gap() const;

 private:
  CallAnswer OnConnect(const Caller& caller);
  CallAnswer OnConnectOnHost(const Caller& caller, const ObservedAddress& address);
  void OnPathCall(const Caller& caller, const ObservedCall& call);
  void OnInternetAddress(const std::string& target);
  void OnSocketPath(const Caller& caller, const std::string& path);
  void OnOpen(const std::string& path, std::uint64_t flags);
  void OnRead(const std::string& path);
  void OnChange(const std::string& path, bool follow);
  void OnCreate(const std::string& path, bool may_exist);
  void OnRemove(const std::string& path);
  void OnExecute(const std::string& path);

  [[nodiscard]] std::optional<std::string> PathArgument(const Caller& caller, int folder,
                                                        int place) const;
  [[nodiscard]] std::string Absolute(const Caller& caller, int folder,
                                     const std::string& path) const;
  // Whether the root folder is at hand for looking up paths.
  [[nodiscard]] bool HoldRoot(const Caller& caller);
  [[nodiscard]] ViewPlace Find(const std::string& path, bool follow) const;
  // Whether the confinement lets it happen; else it is refused, or there is nothing inside.
  [[nodiscard]] bool Allows(Axis axis, const ViewPlace& place) const;
  // Whether looking at `path` on the host cannot wait for anybody.
  [[nodiscard]] bool IsSafeToLookAt(const std::string& path);
  void Refuse(Axis axis, const std::string& path);

  const ObservationInputs inputs_;
  UniqueFd root_;
  std::optional<MountTable> mounts_;
  LedConnections connections_;
  Refusals refusals_;
  std::atomic<bool> is_blind_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OBSERVATION_H_
