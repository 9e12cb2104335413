// connect(2) of a command's sockets, made by this program. It takes as long as the kernel lets it
// take, which the command decides alone (it may change O_NONBLOCK and SO_SNDTIMEO of its socket at
// any moment), so each one has a thread of its own that gives the answer, and nobody else waits.

#ifndef CORDON_SANDBOX_SRC_PENDING_CONNECTS_H_
#define CORDON_SANDBOX_SRC_PENDING_CONNECTS_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// Used by one thread at a time.
class PendingConnects {
 public:
  static constexpr std::size_t kMost = 64;

  struct Request {
    UniqueFd socket;                // A copy of the command's.
    std::vector<UniqueFd> held;     // What must stay until it is connected.
    sockaddr_storage address = {};  // Where to, with its size.
    socklen_t size = 0;
  };

  PendingConnects();
  PendingConnects(const PendingConnects&) = delete;
  PendingConnects& operator=(const PendingConnects&) = delete;
  // Ends those that still wait, without an answer.
  ~PendingConnects();

  // Connects, and answers call `id` of `listener` (borrowed) with what connect(2) said. Returns 0
  // or an errno, and then nothing is done: EAGAIN when there are `kMost` or there is no thread.
  [[nodiscard]] int Begin(Request request, std::uint64_t id, int listener);

 private:
  struct Connect;

  // Those that are done, and those that nobody waits for any more.
  void Sweep();

  std::list<std::unique_ptr<Connect>> connects_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_PENDING_CONNECTS_H_
