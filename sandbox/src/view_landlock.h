// The Landlock rules that go with a view: whatever the mounts should miss, writing ends at the
// writable roots. Constants are our own, since the build's kernel headers may be older than the
// kernel (landlock(7)).

#ifndef CORDON_SANDBOX_SRC_VIEW_LANDLOCK_H_
#define CORDON_SANDBOX_SRC_VIEW_LANDLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "plan.h"

namespace cordon::internal {

// Every file system right that `abi` knows; 0 for an `abi` below 1.
[[nodiscard]] std::uint64_t LandlockFileRights(int abi);

// Abstract unix sockets and signals of others, where `abi` has scopes.
[[nodiscard]] std::uint64_t LandlockScopes(int abi);

// Reading and executing everywhere, since the view shows only what may be read; writing in
// `writable_roots` (folders or single files), in the terminals, devices and shared memory of the
// view's own /dev, and in its own /proc.
[[nodiscard]] std::vector<LandlockRule> ViewLandlockRules(
    int abi, const std::vector<std::string>& writable_roots);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_LANDLOCK_H_
