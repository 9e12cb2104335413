// Whether the limits of commands can be held by cgroups here.

#ifndef CORDON_SANDBOX_SRC_CGROUP_CHOICE_H_
#define CORDON_SANDBOX_SRC_CGROUP_CHOICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "command_cgroups.h"
#include "cordon/sdk/profile.h"

namespace cordon::internal {

// The delegated cgroup that a person named: `option`, else the variable CORDON_CGROUP_ROOT; empty
// when there is none.
[[nodiscard]] std::string NamedCgroup(const std::string& option);

// Cgroups for commands with these limits, below `named` or, when that is empty, below one that is
// found, after a process was really started in one. Returns kUnavailable or kSetupFailed with the
// reason. `fallback_directory`: see `Launcher::Start`.
[[nodiscard]] absl::StatusOr<std::shared_ptr<CommandCgroups>> MakeCommandCgroups(
    const std::string& named, const Limits& limits, const std::string& fallback_directory);

// Whether commands of this profile could write there, and so to their own limits.
[[nodiscard]] bool MayWriteCgroups(const Profile& profile, const std::string& delegated);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_CGROUP_CHOICE_H_
