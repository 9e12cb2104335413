// Messages with descriptors on a SOCK_SEQPACKET socket (unix(7)).

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_MESSAGE_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_MESSAGE_H_

#include <cstddef>
#include <cstdint>

#include "launcher/fd.h"

namespace cordon::launcher {

inline constexpr int kMaxDescriptors = 8;

struct Received {
  long size = 0;  // 0: the peer is gone. Negative: an errno, also EMSGSIZE for what was cut off.
  Fd descriptors[kMaxDescriptors];
  int descriptor_count = 0;
};

// Makes the two ends of such a socket; no command inherits them. Returns an errno.
[[nodiscard]] int MakeSocketPair(Fd* one, Fd* other);

// Waits for one message.
[[nodiscard]] Received Receive(int socket, void* buffer, std::size_t capacity);

// Sends one message, with `descriptor` attached unless it is negative. Returns an errno.
int Send(int socket, const void* bytes, std::size_t size, int descriptor = -1);
// The same with `count` descriptors, at most kMaxDescriptors.
int SendAll(int socket, const void* bytes, std::size_t size, const int* descriptors, int count);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_MESSAGE_H_
