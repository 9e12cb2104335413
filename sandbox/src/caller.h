// The thread that waits inside an observed system call, seen from the host: its arguments, its
// folders, its sockets. What is read may change while it is read, so nothing is decided by it.

#ifndef CORDON_SANDBOX_SRC_CALLER_H_
#define CORDON_SANDBOX_SRC_CALLER_H_

#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

class Caller {
 public:
  // Both are borrowed.
  Caller(const seccomp_notif& call, int listener) : call_(call), listener_(listener) {}

  // Its id as a thread.
  [[nodiscard]] pid_t thread() const { return id(); }
  [[nodiscard]] int call_number() const { return call_.data.nr; }
  [[nodiscard]] std::uint64_t argument(int place) const { return call_.data.args[place]; }
  // As the kernel takes an `int`.
  [[nodiscard]] int number(int place) const { return static_cast<int>(argument(place)); }

  // Whether it still waits. Its id may belong to somebody else by now, so what was read or opened
  // by that id counts only when this is true afterwards.
  [[nodiscard]] bool IsWaiting() const;

  // `size` bytes of its memory; false when they cannot be read.
  [[nodiscard]] bool Read(std::uint64_t address, void* bytes, std::size_t size) const;
  // Whether the kernel forbids this program to read it at all (ptrace(2), Yama).
  [[nodiscard]] bool is_out_of_reach() const { return is_out_of_reach_; }
  // Text up to its NUL; nothing when it cannot be read or is longer than a path may be.
  [[nodiscard]] std::optional<std::string> ReadPath(std::uint64_t address) const;

  // Where the folder `descriptor`, or with AT_FDCWD its current one, is in its view; empty when it
  // is no folder that has a place there.
  [[nodiscard]] std::string FolderPath(int descriptor) const;
  // Its root folder, O_PATH.
  [[nodiscard]] UniqueFd OpenRoot() const;
  // What its `descriptor`, or with AT_FDCWD its current folder, is open on, O_PATH; invalid when
  // there is none or it cannot be reached.
  [[nodiscard]] UniqueFd OpenDescriptor(int descriptor) const;
  // Whether it is a process of the user that this program acts as.
  [[nodiscard]] bool IsOfThisUser() const;
  // A copy of its `descriptor`, as pidfd_getfd(2) makes it; invalid when there is none or it cannot
  // be reached.
  [[nodiscard]] UniqueFd CopyDescriptor(int descriptor) const;
  // Gives it a copy of `descriptor` (borrowed), and returns the number that this has there, or a
  // negative errno.
  [[nodiscard]] int Give(int descriptor, bool close_on_exec) const;
  // The type of its socket `descriptor` (SOCK_STREAM, ...); 0 when it is none or cannot be reached.
  [[nodiscard]] int SocketType(int descriptor) const;

 private:
  [[nodiscard]] pid_t id() const { return static_cast<pid_t>(call_.pid); }
  [[nodiscard]] UniqueFd OpenProcess() const;

  const seccomp_notif& call_;
  const int listener_;
  mutable bool is_out_of_reach_ = false;
};

// The descriptor that a caller means by "/proc/self/fd/7", "/dev/fd/7" or "/dev/stdin", which would
// be this program's own here; nothing for any other text.
[[nodiscard]] std::optional<int> OwnDescriptor(std::string_view path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_CALLER_H_
