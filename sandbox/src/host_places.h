// What every command of the landlock tier may use of the host beside what its policy names: the
// private folders of its executor, harmless devices, and files of /proc that speak of no process.

#ifndef CORDON_SANDBOX_SRC_HOST_PLACES_H_
#define CORDON_SANDBOX_SRC_HOST_PLACES_H_

#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "host_rules.h"
#include "view.h"
#include "view_builder.h"

namespace cordon::internal {

void AddHostPlaces(const PathPolicy& paths, const ScratchFolders& scratch, ViewBuilder& builder);

// The wishes of `builder`, and one for the target of each link that it wanted to show as a file.
[[nodiscard]] Wishes HostWishes(const ViewBuilder& builder);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HOST_PLACES_H_
