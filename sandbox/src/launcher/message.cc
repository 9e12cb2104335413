#include "launcher/message.h"

namespace cordon::launcher {
namespace {

// The kernel's layout of recvmsg(2)'s arguments; the C headers that declare them are libc's.
struct Vector {
  void* base;
  std::size_t size;
};
struct Header {
  void* name;
  int name_size;
  Vector* vectors;
  std::size_t vector_count;
  void* control;
  std::size_t control_size;
  unsigned flags;
};
struct ControlHeader {
  std::size_t size;
  int level;
  int type;
};
constexpr int kSocketLevel = 1;            // SOL_SOCKET
constexpr int kRights = 1;                 // SCM_RIGHTS
constexpr unsigned kCut = 0x20 | 0x8;      // MSG_TRUNC | MSG_CTRUNC
constexpr int kReceiveFlags = 0x40000000;  // MSG_CMSG_CLOEXEC
constexpr int kSendFlags = 0x4000;         // MSG_NOSIGNAL

template <int kCount>
struct RightsMessage {
  ControlHeader header;
  int descriptors[kCount];
};

}  // namespace

int MakeSocketPair(Fd* one, Fd* other) {
  constexpr int kUnixFamily = 1;          // AF_UNIX
  constexpr int kSequencedPackets = 5;    // SOCK_SEQPACKET
  constexpr int kCloseOnExec = 02000000;  // SOCK_CLOEXEC
  int ends[2];
  const long made = Call(__NR_socketpair, kUnixFamily, kSequencedPackets | kCloseOnExec, 0, ends);
  if (ErrorOf(made) != 0) return ErrorOf(made);
  *one = Fd(ends[0]);
  *other = Fd(ends[1]);
  return 0;
}

Received Receive(int socket, void* buffer, std::size_t capacity) {
  Vector vector = {buffer, capacity};
  RightsMessage<kMaxDescriptors> control = {};
  Header header = {nullptr, 0, &vector, 1, &control, sizeof(control), 0};
  Received received;
  do {
    received.size = Call(__NR_recvmsg, socket, &header, kReceiveFlags);
  } while (received.size == -EINTR);
  if (received.size < 0) return received;
  if (header.control_size >= sizeof(ControlHeader) && control.header.level == kSocketLevel &&
      control.header.type == kRights) {
    const std::size_t bytes = control.header.size - sizeof(ControlHeader);
    received.descriptor_count = static_cast<int>(bytes / sizeof(int));
    for (int i = 0; i < received.descriptor_count; ++i) {
      received.descriptors[i] = Fd(control.descriptors[i]);
    }
  }
  if ((header.flags & kCut) != 0) received.size = -EMSGSIZE;
  return received;
}

int Send(int socket, const void* bytes, std::size_t size, int descriptor) {
  return SendAll(socket, bytes, size, &descriptor, descriptor >= 0 ? 1 : 0);
}

int SendAll(int socket, const void* bytes, std::size_t size, const int* descriptors, int count) {
  Vector vector = {const_cast<void*>(bytes), size};
  RightsMessage<kMaxDescriptors> control = {};
  const std::size_t control_size =
      sizeof(ControlHeader) + static_cast<std::size_t>(count) * sizeof(int);
  control.header = {control_size, kSocketLevel, kRights};
  for (int i = 0; i < count; ++i) control.descriptors[i] = descriptors[i];
  Header header = {nullptr, 0, &vector, 1, nullptr, 0, 0};
  if (count > 0) {
    header.control = &control;
    header.control_size = control_size;
  }
  long result;
  do {
    result = Call(__NR_sendmsg, socket, &header, kSendFlags);
  } while (result == -EINTR);
  return ErrorOf(result);
}

}  // namespace cordon::launcher
