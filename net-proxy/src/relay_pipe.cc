// The part of a relay that moves bytes without looking at them.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay.h"

namespace cordon::internal::egress {

// Reads have become long: more comes than a message.
bool Relay::WantsPipe(const Flow& flow) const {
  return raw_ && !flow.broken && flow.chunk >= kSlowChunk;
}

// A pipe with bytes in it stays until they are out.
void Relay::ReturnPipe(Flow& flow) {
  if (flow.pipe != nullptr && flow.pipe->held == 0) {
    shared_.pipes.Return(std::move(flow.pipe));
    flow.chunk = kFirstChunk;  // They have to become long again.
  }
}

// Like ReadOnce, into the empty pipe.
bool Relay::SpliceIn(Flow& flow, std::size_t& budget) {
  const ssize_t count = splice(flow.from->fd.get(), nullptr, flow.pipe->in.get(), nullptr,
                               SplicePipes::kPipeBytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (count <= 0) return GotNothing(flow, count);
  flow.pipe->held = static_cast<std::size_t>(count);
  Count(flow, flow.pipe->held, budget);
  return true;
}

// False when bytes are left in the pipe, or the flow is over.
bool Relay::SpliceOut(Flow& flow) {
  while (flow.pipe->held > 0) {
    if (!flow.to->writable) return false;
    const ssize_t count = splice(flow.pipe->out.get(), nullptr, flow.to->fd.get(), nullptr,
                                 flow.pipe->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      flow.to->writable = false;
      return false;
    }
    if (count <= 0) {
      shared_.pipes.Return(std::move(flow.pipe));
      Break(flow);
      return stage_ == Stage::kRelaying || stage_ == Stage::kLastAnswers;
    }
    flow.pipe->held -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace cordon::internal::egress
