// The networks of one executor: made when they are needed, used by one command at a time, and used
// again once the whole tree of the one before has provably ended.

#ifndef CORDON_SANDBOX_SRC_NETWORK_POOL_H_
#define CORDON_SANDBOX_SRC_NETWORK_POOL_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher.h"
#include "network_namespaces.h"

namespace cordon::internal {

// Safe from any thread.
class NetworkPool {
 public:
  NetworkPool(std::shared_ptr<Launcher> launcher, bool with_gateway)
      : launcher_(std::move(launcher)), with_gateway_(with_gateway) {}

  // Begins one ahead, for the first `Take`.
  [[nodiscard]] absl::Status Prepare();

  // One that nobody else has, ready. Errors as those of `NetworkNamespaces`.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<NetworkNamespaces>> Take();

  // For another command. Only after the end of the tree that was in it and of everything that
  // served it; what somebody still holds is left to that.
  void GiveBack(std::shared_ptr<NetworkNamespaces> network);

  // A new one, with a gateway, that is never used again.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<NetworkNamespaces>> MakeOnce();

  // Ends those that are not in use, and keeps none from now on.
  void Close();

 private:
  // More are kept by no executor: each is a process and two namespaces.
  static constexpr std::size_t kMostIdle = 4;

  [[nodiscard]] absl::StatusOr<std::shared_ptr<NetworkNamespaces>> Make(bool with_gateway);

  const std::shared_ptr<Launcher> launcher_;
  const bool with_gateway_;
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<std::shared_ptr<NetworkNamespaces>> idle_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_NETWORK_POOL_H_
