// One network namespace that is made ahead, while nobody waits: making one takes the kernel longer
// than all the rest of a sandbox. Each serves one sandbox; before that no process but its maker was
// ever in it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SPARE_NETWORK_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SPARE_NETWORK_H_

#include "launcher/fd.h"

namespace cordon::launcher {

class SpareNetwork {
 public:
  // Whether there is none, and none is being made.
  [[nodiscard]] bool is_missing() const { return !answer_.ok(); }
  // Whether it is not worth trying again.
  [[nodiscard]] bool is_refused() const { return failures_ >= kMostFailures; }

  // Has a process make one with its loopback, in the user namespace `user`, which has all power
  // over it. `launcher` is the pidfd of this program.
  void Begin(int user, int launcher);

  // Gives it away. Without a descriptor when there is none, or none yet.
  [[nodiscard]] Fd Take();

 private:
  static constexpr int kMostFailures = 3;

  int failures_ = 0;
  Fd answer_;  // What the process that makes it sends it on.
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SPARE_NETWORK_H_
