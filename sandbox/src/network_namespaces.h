// A sandbox's network that outlives single commands: its namespaces, kept by a process of the
// launcher.

#ifndef CORDON_SANDBOX_SRC_NETWORK_NAMESPACES_H_
#define CORDON_SANDBOX_SRC_NETWORK_NAMESPACES_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/egress.h"
#include "launcher.h"
#include "network_protocol.h"

namespace cordon::internal {

// Safe from any thread.
class NetworkNamespaces final : public SandboxNetwork {
 public:
  // Begins to make a network and returns at once. Without a gateway both sides are the same
  // namespace, from which nothing can be reached. Returns kUnavailable when the launcher is gone.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<NetworkNamespaces>> Begin(
      std::shared_ptr<Launcher> launcher, bool with_gateway);

  // Waits until it is ready; to be called before anything else, and again as often as one likes.
  // Returns kSetupFailed {step, errno} when it never will be.
  [[nodiscard]] absl::Status AwaitReady();

  NetworkNamespaces(const NetworkNamespaces&) = delete;
  NetworkNamespaces& operator=(const NetworkNamespaces&) = delete;
  ~NetworkNamespaces() override;  // Ends the keeper and waits for that.

  absl::StatusOr<UniqueFd> MakeSocket(Side side, int family, int type) override;
  absl::StatusOr<UniqueFd> ListenAtEveryPort() override;
  absl::Status RouteAddress(const std::string& address) override;

  // The namespace to start commands in.
  [[nodiscard]] int sandbox() const { return sandbox_.get(); }

 private:
  struct Answer {
    NetworkReply reply;
    UniqueFd descriptor;
  };

  NetworkNamespaces(std::shared_ptr<Launcher> launcher, StartedNetwork started)
      : launcher_(std::move(launcher)), started_(std::move(started)) {}

  [[nodiscard]] absl::Status AwaitKeeperLocked();

  [[nodiscard]] absl::StatusOr<UniqueFd> AskForSocket(const NetworkRequest& request);
  [[nodiscard]] absl::StatusOr<Answer> Ask(const NetworkRequest& request);
  [[nodiscard]] absl::StatusOr<Answer> Receive() const;

  std::shared_ptr<Launcher> launcher_;  // Null once it has been asked for the keeper.
  const StartedNetwork started_;
  UniqueFd keeper_;
  UniqueFd sandbox_;
  std::mutex mutex_;  // One request at a time.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_NETWORK_NAMESPACES_H_
