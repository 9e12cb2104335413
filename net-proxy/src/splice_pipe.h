// Pipes through which the kernel moves bytes from one socket to another without copying them to us
// (splice(2)). They are few, since a user's pipes share one budget (pipe(7),
// /proc/sys/fs/pipe-user-pages-soft): a flow borrows one while it is busy. The loop's thread only.

#ifndef CORDON_NET_PROXY_SRC_SPLICE_PIPE_H_
#define CORDON_NET_PROXY_SRC_SPLICE_PIPE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal::egress {

struct SplicePipe {
  UniqueFd out;
  UniqueFd in;
  std::size_t held = 0;  // Bytes that went in and not out.
};

class SplicePipes {
 public:
  // Null when none is free or to be had; then bytes are copied.
  [[nodiscard]] std::unique_ptr<SplicePipe> Borrow();
  // A pipe that still holds bytes is closed instead.
  void Return(std::unique_ptr<SplicePipe> pipe);

  static constexpr std::size_t kPipeBytes = std::size_t{512} * 1024;

 private:
  static constexpr std::size_t kMaxPipes = 16;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<SplicePipe>> free_;
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_SPLICE_PIPE_H_
