#include "network_pool.h"

#include <utility>

namespace cordon::internal {

absl::Status NetworkPool::Prepare() {
  absl::StatusOr<std::shared_ptr<NetworkNamespaces>> network =
      NetworkNamespaces::Begin(launcher_, with_gateway_);
  if (!network.ok()) return network.status();
  GiveBack(*std::move(network));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<NetworkNamespaces>> NetworkPool::Take() {
  std::shared_ptr<NetworkNamespaces> network;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      network = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (network == nullptr) return Make(with_gateway_);
  absl::Status ready = network->AwaitReady();
  if (!ready.ok()) return ready;
  return network;
}

void NetworkPool::GiveBack(std::shared_ptr<NetworkNamespaces> network) {
  if (network.use_count() > 1) return;
  const std::lock_guard lock(mutex_);
  if (!closed_ && idle_.size() < kMostIdle) idle_.push_back(std::move(network));
}

absl::StatusOr<std::shared_ptr<NetworkNamespaces>> NetworkPool::MakeOnce() { return Make(true); }

void NetworkPool::Close() {
  std::vector<std::shared_ptr<NetworkNamespaces>> idle;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  idle.swap(idle_);
}

absl::StatusOr<std::shared_ptr<NetworkNamespaces>> NetworkPool::Make(bool with_gateway) {
  absl::StatusOr<std::shared_ptr<NetworkNamespaces>> network =
      NetworkNamespaces::Begin(launcher_, with_gateway);
  if (!network.ok()) return network.status();
  absl::Status ready = (*network)->AwaitReady();
  if (!ready.ok()) return ready;
  return network;
}

}  // namespace cordon::internal
