// Sole owner of a file descriptor. Not thread-safe; move only. A raw `int fd` parameter elsewhere
// in cordon is borrowed, never owned.

#ifndef CORDON_SDK_UNIQUE_FD_H_
#define CORDON_SDK_UNIQUE_FD_H_

#include <utility>

namespace cordon {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  // Closes what is held. EINTR is not retried: on Linux the descriptor is gone either way
  // (close(2)).
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace cordon

#endif  // CORDON_SDK_UNIQUE_FD_H_
