// Which steps of a plan's view all of its sandboxes can share, and which each makes for itself.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_VIEW_ROLES_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_VIEW_ROLES_H_

#include <cstdint>

#include "launcher/plan_reader.h"

namespace cordon::launcher {

enum class ViewRole : std::uint8_t {
  kShared,   // Made once; lies in file systems of the view's own.
  kChecked,  // The same, but mounted on an object of the host's, which takes the mount with it when
             // it is removed: to be looked at in each copy.
  kOwn,      // Can be written to, or belongs to one pid namespace: made anew in each sandbox.
  kDivided,  // /dev: its nodes are shared, its terminals and /dev/shm are not.
};

// Whether what is at the absolute path `path` is made anew in each sandbox.
[[nodiscard]] bool IsOwnPlace(const Plan& plan, const ViewRole* roles, const char* path);

// Fills in `roles`, one for each step of the plan's view. False when the view cannot be shared.
[[nodiscard]] bool AssignRoles(const Plan& plan, ViewRole* roles);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_VIEW_ROLES_H_
