// A plan that the launcher knows, for as long as this object lives.

#ifndef CORDON_SANDBOX_SRC_REGISTERED_PLAN_H_
#define CORDON_SANDBOX_SRC_REGISTERED_PLAN_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "launcher.h"
#include "plan.h"

namespace cordon::internal {

class RegisteredPlan {
 public:
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<const RegisteredPlan>> Create(
      std::shared_ptr<Launcher> launcher, const SandboxPlan& plan) {
    const absl::StatusOr<std::uint32_t> id = launcher->AddPlan(plan);
    if (!id.ok()) return id.status();
    return std::shared_ptr<const RegisteredPlan>(new RegisteredPlan(std::move(launcher), *id));
  }

  RegisteredPlan(const RegisteredPlan&) = delete;
  RegisteredPlan& operator=(const RegisteredPlan&) = delete;
  ~RegisteredPlan() { launcher_->RemovePlan(id_); }

  [[nodiscard]] Launcher& launcher() const { return *launcher_; }
  [[nodiscard]] std::uint32_t id() const { return id_; }

 private:
  RegisteredPlan(std::shared_ptr<Launcher> launcher, std::uint32_t id)
      : launcher_(std::move(launcher)), id_(id) {}

  const std::shared_ptr<Launcher> launcher_;
  const std::uint32_t id_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_REGISTERED_PLAN_H_
