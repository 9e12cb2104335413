#include "deadline_poll.h"

#include <sys/epoll.h>

#include <cerrno>

namespace cordon::internal {
namespace {

// Long waits are cut into pieces, so that a far deadline needs no special case.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(1);

std::chrono::milliseconds Remaining(SteadyTime deadline) {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (deadline <= now) return std::chrono::milliseconds(0);
  if (deadline - now >= kLongest) return kLongest;
  // Rounded up: otherwise the last millisecond would be spent polling without waiting.
  return std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
}

}  // namespace

bool PollUntil(absl::Span<pollfd> descriptors, SteadyTime deadline) {
  while (true) {
    const std::chrono::milliseconds wait = Remaining(deadline);
    const int ready = poll(descriptors.data(), descriptors.size(), static_cast<int>(wait.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline) return false;
  }
}

bool ReadableUntil(int fd, SteadyTime deadline) {
  pollfd descriptor = {fd, POLLIN, 0};
  return PollUntil(absl::MakeSpan(&descriptor, 1), deadline);
}

bool ReadableNow(int fd) { return ReadableUntil(fd, SteadyTime::min()); }

UniqueFd EitherReadable(int one, int other) {
  UniqueFd either(epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {one, other}) {
    epoll_event event = {};
    event.events = EPOLLIN;
    if (epoll_ctl(either.get(), EPOLL_CTL_ADD, fd, &event) != 0) return UniqueFd();
  }
  return either;
}

}  // namespace cordon::internal
