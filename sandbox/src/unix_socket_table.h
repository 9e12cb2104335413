// Which unix sockets are bound on this host (proc(5), /proc/net/unix).

#ifndef CORDON_SANDBOX_SRC_UNIX_SOCKET_TABLE_H_
#define CORDON_SANDBOX_SRC_UNIX_SOCKET_TABLE_H_

#include <set>
#include <string>
#include <string_view>

#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

class UnixSocketTable {
 public:
  // Of this process's network namespace.
  [[nodiscard]] static UnixSocketTable OfThisHost();

  // Of the text of /proc/net/unix. Without its heading nothing is known.
  [[nodiscard]] static UnixSocketTable Parse(std::string_view text);

  // What the kernel has it in, for `BoundNamesIn`; reading that again is cheaper than opening it
  // again. Of the network namespace in which it was opened.
  [[nodiscard]] static UniqueFd Open();

  // What of that makes a table, as a text that is the same for the same names.
  [[nodiscard]] static std::string BoundNamesIn(int file);

  // Whether some process may have the socket at `path` open. The kernel shows the name as it was
  // bound, which may be relative, so only last components are compared. True when nothing is known.
  [[nodiscard]] bool MayBeBound(std::string_view path) const;

  // Absolute ones, as they were bound.
  [[nodiscard]] const std::set<std::string>& paths() const { return paths_; }

 private:
  [[nodiscard]] static std::string BoundNames(std::string_view text);
  void TakeNames(std::string_view bound);

  bool known_ = false;
  std::set<std::string, std::less<>> names_;
  std::set<std::string> paths_;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_UNIX_SOCKET_TABLE_H_
