// A plan that the launcher knows, for as long as this object lives.

#ifndef CORDON_SANDBOX_SRC_REGISTERED_PLAN_H_
#define CORDON_SANDBOX_SRC_REGISTERED_PLAN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "launcher.h"
#include "plan.h"

namespace cordon::internal {

// Safe from any thread.
class RegisteredPlan {
 public:
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<const RegisteredPlan>> Create(
      std::shared_ptr<Launcher> launcher, const SandboxPlan& plan) {
    auto registered = ForLater(std::move(launcher), plan);
    absl::Status status = registered->Register();
    if (!status.ok()) return status;
    return registered;
  }

  // One that the launcher knows only from `Register` on.
  [[nodiscard]] static std::shared_ptr<const RegisteredPlan> ForLater(
      std::shared_ptr<Launcher> launcher, SandboxPlan plan) {
    return std::shared_ptr<const RegisteredPlan>(
        new RegisteredPlan(std::move(launcher), std::move(plan)));
  }

  RegisteredPlan(const RegisteredPlan&) = delete;
  RegisteredPlan& operator=(const RegisteredPlan&) = delete;
  ~RegisteredPlan() {
    if (!plan_.has_value()) launcher_->RemovePlan(id_);
  }

  // Idempotent. Errors are those of `Launcher::AddPlan`.
  [[nodiscard]] absl::Status Register() const {
    const std::lock_guard lock(mutex_);
    if (!plan_.has_value()) return absl::OkStatus();
    const absl::StatusOr<std::uint32_t> id = launcher_->AddPlan(*plan_);
    if (!id.ok()) return id.status();
    id_ = *id;
    plan_.reset();
    return absl::OkStatus();
  }

  [[nodiscard]] Launcher& launcher() const { return *launcher_; }
  // Once it is registered.
  [[nodiscard]] std::uint32_t id() const { return id_; }

 private:
  RegisteredPlan(std::shared_ptr<Launcher> launcher, SandboxPlan plan)
      : launcher_(std::move(launcher)), plan_(std::move(plan)) {}

  const std::shared_ptr<Launcher> launcher_;
  mutable std::mutex mutex_;
  mutable std::optional<SandboxPlan> plan_;  // Nothing once it is registered.
  mutable std::uint32_t id_ = 0;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_REGISTERED_PLAN_H_
