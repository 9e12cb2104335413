#ifndef CORDON_SANDBOX_SRC_LAUNCHER_LOOPBACK_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_LOOPBACK_H_

namespace cordon::launcher {

// Raises the loopback of a new network namespace: the kernel makes it down, without an address.
[[nodiscard]] int RaiseLoopback();

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_LOOPBACK_H_
