#include "relay.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cordon::cli {
namespace {

constexpr std::uint64_t kSpliceBytes = 1U << 20;
constexpr int kPipeBytes = 1 << 20;  // What an unprivileged user may ask for (pipe(7)).

// Enough to keep a fast stream going, few enough to come back to the other stream and to signals.
constexpr int kMovesPerTurn = 16;

// A write of at most PIPE_BUF bytes after POLLOUT cannot block on a pipe (pipe(7)), and our own
// descriptors cannot be made non-blocking: that flag would be the caller's, too.
constexpr std::uint64_t kCopyBytes = PIPE_BUF;

constexpr short kGone = POLLERR | POLLNVAL;

bool WriteAll(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

Relay::Relay(UniqueFd source, UniqueFd destination)
    : source_(std::move(source)), destination_(std::move(destination)) {
  // From a terminal splice(2) waits for more than there is, whatever flag it gets.
  if (source_.valid() && ::isatty(source_.get()) != 0) splice_works_ = false;
  if (!source_.valid() || !destination_.valid()) {
    End();
    return;
  }
  // Fewer wake-ups for large output; a refusal costs only speed.
  ::fcntl(source_.get(), F_SETPIPE_SZ, kPipeBytes);
}

void Relay::Watch(pollfd* entries) const {
  const bool for_data = waiting_ == Waiting::kForData;
  entries[0] = {for_data ? source_.get() : -1, POLLIN, 0};
  entries[1] = {destination_.get(), static_cast<short>(for_data ? 0 : POLLOUT), 0};
}

std::uint64_t Relay::Advance(const pollfd* entries, std::uint64_t limit) {
  if (ended()) return 0;
  if ((entries[1].revents & kGone) != 0) {
    End();
    return 0;
  }
  if (waiting_ == Waiting::kForData) {
    if (entries[0].revents == 0) return 0;
    waiting_ = Waiting::kForRoom;  // Data, or the end: both show once there is room to write.
    return 0;
  }
  if ((entries[1].revents & POLLOUT) == 0) return 0;
  if (limit == 0) {
    LookBeyondTheLimit();
    return 0;
  }
  std::uint64_t moved = 0;
  for (int moves = 0; moves < kMovesPerTurn && moved < limit; ++moves) {
    const std::int64_t size = Move(limit - moved);
    if (size > 0) {
      moved += static_cast<std::uint64_t>(size);
      if (!splice_works_) break;  // There may be no more room.
      continue;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      waiting_ = Waiting::kForData;
    } else {
      End();
    }
    break;
  }
  return moved;
}

void Relay::LookBeyondTheLimit() {
  const short state = SourceState();
  if (state == 0) {
    waiting_ = Waiting::kForData;
    return;
  }
  overflowed_ = (state & POLLIN) != 0;
  End();
}

std::int64_t Relay::Move(std::uint64_t limit) {
  if (splice_works_) {
    const ssize_t moved =
        ::splice(source_.get(), nullptr, destination_.get(), nullptr, std::min(limit, kSpliceBytes),
                 SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (moved >= 0 || errno != EINVAL) return moved;
    splice_works_ = false;  // A terminal, or a file opened for appending.
  }
  if (SourceState() == 0) {
    errno = EAGAIN;
    return -1;
  }
  std::array<char, kCopyBytes> buffer;
  const ssize_t got = ::read(source_.get(), buffer.data(), std::min(limit, kCopyBytes));
  if (got <= 0) return got;
  if (WriteAll(destination_.get(), buffer.data(), static_cast<std::size_t>(got))) return got;
  return -1;
}

short Relay::SourceState() const {
  pollfd source{source_.get(), POLLIN, 0};
  return ::poll(&source, 1, 0) > 0 ? source.revents : short{0};
}

void Relay::End() {
  source_.Reset();
  destination_.Reset();
}

}  // namespace cordon::cli
