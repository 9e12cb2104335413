#include "splice_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace cordon::internal::egress {

std::unique_ptr<SplicePipe> SplicePipes::Borrow() {
  if (lent_ >= kMaxPipes) return nullptr;
  ++lent_;
  if (!free_.empty()) {
    std::unique_ptr<SplicePipe> pipe = std::move(free_.back());
    free_.pop_back();
    return pipe;
  }
  int fds[2];
  auto pipe = std::make_unique<SplicePipe>();
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0) {
    pipe->out.Reset(fds[0]);
    pipe->in.Reset(fds[1]);
    // Smaller ones would need more calls than copying does.
    if (fcntl(fds[1], F_SETPIPE_SZ, kPipeBytes) >= static_cast<int>(kPipeBytes)) return pipe;
  }
  --lent_;
  return nullptr;
}

void SplicePipes::Return(std::unique_ptr<SplicePipe> pipe) {
  --lent_;
  if (pipe->held == 0) free_.push_back(std::move(pipe));
}

}  // namespace cordon::internal::egress
