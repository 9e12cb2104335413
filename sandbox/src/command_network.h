// The network of one command: a network of the executor's while the command has it, and the proxy's
// session that serves it. In the landlock tier, where it has none, a door to the proxy.

#ifndef CORDON_SANDBOX_SRC_COMMAND_NETWORK_H_
#define CORDON_SANDBOX_SRC_COMMAND_NETWORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/denial.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/profile.h"
#include "network_pool.h"

namespace cordon::internal {

// Whether commands under `profile` have a network that an egress proxy serves, when there is one.
[[nodiscard]] bool IsServed(const Profile& profile);

// The network that the commands of one executor share, with its proxy's session, if it has one.
struct SharedNetwork {
  std::shared_ptr<NetworkNamespaces> network;
  std::unique_ptr<EgressSession> session;  // Ends before the network.
};

// Used by one thread at a time.
class CommandNetwork {
 public:
  CommandNetwork(std::shared_ptr<NetworkPool> pool, bool is_pooled,
                 std::shared_ptr<NetworkNamespaces> network, std::unique_ptr<EgressSession> session)
      : pool_(std::move(pool)),
        is_pooled_(is_pooled),
        network_(std::move(network)),
        session_(std::move(session)) {}
  explicit CommandNetwork(std::shared_ptr<SharedNetwork> shared);
  explicit CommandNetwork(std::unique_ptr<EgressDoor> door)
      : is_pooled_(false), door_(std::move(door)) {}

  // To start the command in; null when it has none.
  [[nodiscard]] const std::shared_ptr<NetworkNamespaces>& network() const { return network_; }

  // Where the command's sockets are to be connected; null when it has a network, or this is over.
  [[nodiscard]] const std::shared_ptr<EgressDoor>& door() const { return door_; }
  // What programs need to know in such a network.
  void AddVariables(std::vector<std::string>& environment) const;

  struct Summary {
    std::vector<Denial> denials;
    std::vector<NetworkTarget> approved;  // While it ran.
    std::vector<ReportEntry> entries;
  };
  // Once, after the end of the whole tree: ends the session and frees the network for another
  // command. Without it, destroying this ends both.
  [[nodiscard]] Summary Finish();

 private:
  const std::shared_ptr<NetworkPool> pool_;
  const bool is_pooled_;
  std::shared_ptr<NetworkNamespaces> network_;
  std::unique_ptr<EgressSession> session_;  // Ends before the network.
  const std::shared_ptr<SharedNetwork> shared_;
  std::vector<Denial> refused_before_;  // In the shared network.
  std::shared_ptr<EgressDoor> door_;
};

enum class NetworkKind : std::uint8_t {
  kEach,    // Each command has one.
  kShared,  // Those of an executor share one.
  kDoor,    // None, but a door to the proxy.
};

// Opens the networks of one executor's commands. Safe from any thread.
class CommandNetworks {
 public:
  // For a profile that `IsServed`, or, when commands share a network, with a null proxy.
  CommandNetworks(const Profile& profile, std::shared_ptr<Launcher> launcher,
                  std::shared_ptr<EgressProxy> proxy, NetworkKind kind);

  // Begins the first network ahead.
  [[nodiscard]] absl::Status Prepare() {
    return kind_ == NetworkKind::kEach ? pool_->Prepare() : absl::OkStatus();
  }

  // Calls `use` with the network that the first command without grants will have.
  [[nodiscard]] absl::Status Try(
      const std::function<absl::Status(const std::shared_ptr<NetworkNamespaces>&)>& use);

  // The network for one command, in which everything accepts when this returns. `granted` are the
  // targets of its own grants. Errors of the proxy (kUnavailable for a port in use) and of
  // `NetworkNamespaces`.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<CommandNetwork>> Open(
      const std::string& execution_id, const std::vector<NetworkTarget>& granted);

  // The network that all commands without grants of their own share, made for the first of them.
  // What the profile gates is refused in it: nobody could say for which of them a person is asked.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<CommandNetwork>> Join();

  // After the end of every command.
  void Close();

 private:
  [[nodiscard]] absl::StatusOr<std::unique_ptr<CommandNetwork>> OpenDoor(EgressPlan plan);

  EgressPlan plan_;  // The profile's own.
  const std::shared_ptr<EgressProxy> proxy_;
  const NetworkKind kind_;
  const std::shared_ptr<NetworkPool> pool_;
  std::mutex mutex_;
  std::shared_ptr<SharedNetwork> shared_;  // Null before the first `Join`.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_COMMAND_NETWORK_H_
