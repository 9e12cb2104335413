// The processes below this one, where there is no pid namespace that would hold them together.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_DESCENDANTS_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_DESCENDANTS_H_

#include <cstdint>

namespace cordon::launcher {

// Sends `signal` to every descendant that /proc shows now.
void SignalDescendants(int signal);

// How many threads all of them have.
[[nodiscard]] std::uint64_t CountDescendants();

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_DESCENDANTS_H_
