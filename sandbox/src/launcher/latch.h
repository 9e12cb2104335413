// Something that happens once, and that another process with the same memory waits for (futex(2)).

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_LATCH_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_LATCH_H_

#include <linux/futex.h>

#include "launcher/syscall.h"

namespace cordon::launcher {

class Latch {
 public:
  // For CLONE_CHILD_CLEARTID: opened when the child executes a program or ends (clone(2)).
  [[nodiscard]] int* word() { return &closed_; }

  void Open() {
    __atomic_store_n(&closed_, 0, __ATOMIC_RELEASE);
    Call(__NR_futex, &closed_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

  void Await() const {
    // The kernel opens it by the kind of futex that processes share.
    while (__atomic_load_n(&closed_, __ATOMIC_ACQUIRE) != 0) {
      Call(__NR_futex, &closed_, FUTEX_WAIT, 1, nullptr, nullptr, 0);
    }
  }

 private:
  int closed_ = 1;
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_LATCH_H_
