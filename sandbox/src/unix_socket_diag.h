// Which unix sockets of this network namespace are bound to a file or to an abstract name, asked
// from the kernel (sock_diag(7), NETLINK_SOCK_DIAG).

#ifndef CORDON_SANDBOX_SRC_UNIX_SOCKET_DIAG_H_
#define CORDON_SANDBOX_SRC_UNIX_SOCKET_DIAG_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cordon::internal {

// A file as the kernel itself numbers it, which on some file systems is not what stat(2) says. Of
// the inode number it tells the low 32 bits only, so that on a file system with longer ones several
// files may have one identity.
struct KernelFileIdentity {
  std::uint32_t device = 0;
  std::uint32_t inode = 0;

  friend bool operator==(const KernelFileIdentity&, const KernelFileIdentity&) = default;
};

// Of what `object` is open on, O_PATH will do; nothing when the kernel does not say.
[[nodiscard]] std::optional<KernelFileIdentity> KernelIdentityOf(int object);

// The inode numbers (fstat(2) of the socket) of all sockets that are bound there and not connected:
// those that listen, will listen, or take datagrams. Nothing when the kernel does not say.
using SocketNumbers = std::vector<std::uint32_t>;
[[nodiscard]] std::optional<SocketNumbers> SocketsBoundTo(const KernelFileIdentity& file);
// `name` with its first byte, which is 0.
[[nodiscard]] std::optional<SocketNumbers> SocketsNamed(std::string_view name);

// Whether this kernel answers such questions (CONFIG_UNIX_DIAG).
[[nodiscard]] bool TellsBoundSockets();

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_UNIX_SOCKET_DIAG_H_
