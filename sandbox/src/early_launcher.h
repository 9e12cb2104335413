// The launcher that `cordon::Init` started, until the first executor set takes it over.

#ifndef CORDON_SANDBOX_SRC_EARLY_LAUNCHER_H_
#define CORDON_SANDBOX_SRC_EARLY_LAUNCHER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "launcher.h"

namespace cordon::internal {

// The early one when there is one and it was started by this very process, else a new one. Each
// caller gets a launcher of its own.
[[nodiscard]] absl::StatusOr<std::shared_ptr<Launcher>> TakeLauncher(
    const std::string& fallback_directory);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_EARLY_LAUNCHER_H_
