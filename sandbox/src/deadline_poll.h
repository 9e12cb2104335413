// poll(2) until a point in time; the one place here where EINTR is retried.

#ifndef CORDON_SANDBOX_SRC_DEADLINE_POLL_H_
#define CORDON_SANDBOX_SRC_DEADLINE_POLL_H_

#include <poll.h>

#include <chrono>

#include "absl/types/span.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

using SteadyTime = std::chrono::steady_clock::time_point;

// Waits until a descriptor is ready, and fills `revents`. False when `deadline` came first; a
// deadline that has passed still looks once. Descriptors below 0 are ignored.
[[nodiscard]] bool PollUntil(absl::Span<pollfd> descriptors, SteadyTime deadline);

// The same for one descriptor and POLLIN (POLLHUP and POLLERR count).
[[nodiscard]] bool ReadableUntil(int fd, SteadyTime deadline);

// Whether it is ready now.
[[nodiscard]] bool ReadableNow(int fd);

// A descriptor that is readable when one of these is; invalid when none can be had.
[[nodiscard]] UniqueFd EitherReadable(int one, int other);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_DEADLINE_POLL_H_
