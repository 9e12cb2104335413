// Sockets of a command's own tree.

#ifndef CORDON_SANDBOX_SRC_OWN_SOCKETS_H_
#define CORDON_SANDBOX_SRC_OWN_SOCKETS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "command_tree.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// Used by one thread at a time.
class OwnSockets {
 public:
  explicit OwnSockets(std::shared_ptr<const CommandTree> tree) : tree_(std::move(tree)) {}

  // Copies of all `sockets` (inode numbers, see unix_socket_diag.h), each one of which some process
  // of the tree has open; empty when one of them is nobody's there. As long as the copies are held
  // the sockets keep what they are bound to. `caller` is held while its call waits. Processes that
  // may not be looked into (PR_SET_DUMPABLE) have none, but for root.
  [[nodiscard]] std::vector<UniqueFd> Hold(const HeldProcess& caller,
                                           const std::vector<std::uint32_t>& sockets);

 private:
  [[nodiscard]] UniqueFd Find(const HeldProcess& caller, std::uint32_t socket);
  [[nodiscard]] UniqueFd FindIn(pid_t process, const HeldProcess& caller,
                                std::uint32_t socket) const;

  const std::shared_ptr<const CommandTree> tree_;
  pid_t last_ = 0;  // Who had the last one, and is asked first.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_OWN_SOCKETS_H_
