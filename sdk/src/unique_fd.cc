#include "cordon/sdk/unique_fd.h"

#include <unistd.h>

namespace cordon {

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

}  // namespace cordon
