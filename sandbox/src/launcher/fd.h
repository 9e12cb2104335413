// Sole owner of a descriptor, and the few calls on one that several files need.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_FD_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_FD_H_

#include "launcher/syscall.h"

namespace cordon::launcher {

inline constexpr int kDuplicateCloexec = 1030;  // F_DUPFD_CLOEXEC

class Fd {
 public:
  Fd() = default;
  // Takes what a system call returned: a descriptor or a negated errno.
  explicit Fd(long result) : value_(static_cast<int>(result)) {}
  Fd(Fd&& other) noexcept : value_(other.value_) { other.value_ = -EBADF; }
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      value_ = other.value_;
      other.value_ = -EBADF;
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Close(); }

  [[nodiscard]] bool ok() const { return value_ >= 0; }
  // 0, or the errno with which there is no descriptor.
  [[nodiscard]] int error() const { return value_ >= 0 ? 0 : -value_; }
  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] int Release() {
    const int value = value_;
    value_ = -EBADF;
    return value;
  }

 private:
  void Close() {
    if (value_ >= 0) Call(__NR_close, value_);
  }

  int value_ = -EBADF;
};

// The errno in a result, 0 when there is none.
[[nodiscard]] inline int ErrorOf(long result) {
  return result < 0 && result >= -4095 ? static_cast<int>(-result) : 0;
}

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_FD_H_
