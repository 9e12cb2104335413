// Messages with descriptors on a SOCK_SEQPACKET socket (unix(7)), as the launcher reads and writes
// them.

#ifndef CORDON_SANDBOX_SRC_DESCRIPTOR_MESSAGE_H_
#define CORDON_SANDBOX_SRC_DESCRIPTOR_MESSAGE_H_

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

// Sends `head` and `more` as one message, with at most 8 descriptors (borrowed). Returns an errno.
[[nodiscard]] int SendMessage(int socket, std::string_view head, std::string_view more,
                              std::span<const int> descriptors);

// Receives one message of at most `size` bytes, and the descriptor that came with it. `flags` as
// for recvmsg(2), e.g. MSG_DONTWAIT. Returns its size, 0 when the peer is gone, -1 with errno,
// which is never EINTR.
[[nodiscard]] ssize_t ReceiveMessage(int socket, void* bytes, std::size_t size,
                                     UniqueFd* descriptor, int flags = 0);

// A memory file with `bytes`, for what does not fit into a message.
[[nodiscard]] absl::StatusOr<UniqueFd> MemoryFile(std::string_view bytes);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_DESCRIPTOR_MESSAGE_H_
