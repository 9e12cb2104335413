#include "descriptor_message.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxDescriptors = 8;

}  // namespace

int SendMessage(int socket, std::string_view head, std::string_view more,
                std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors) return EINVAL;
  iovec vectors[] = {
      {const_cast<char*>(head.data()), head.size()},
      {const_cast<char*>(more.data()), more.size()},
  };
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = vectors;
  header.msg_iovlen = more.empty() ? 1 : 2;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  while (sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

ssize_t ReceiveMessage(int socket, void* bytes, std::size_t size, UniqueFd* descriptor, int flags) {
  iovec vector = {bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&header); received > 0 && rights != nullptr) {
    int value = -1;
    std::memcpy(&value, CMSG_DATA(rights), sizeof(value));
    *descriptor = UniqueFd(value);
  }
  return received;
}

absl::StatusOr<UniqueFd> MemoryFile(std::string_view bytes) {
  UniqueFd file(memfd_create("cordon-plan", MFD_CLOEXEC));
  if (!file.valid()) return MakeErrnoError(errno, "cannot make a memory file");
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return MakeErrnoError(errno, "cannot fill a memory file");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return file;
}

}  // namespace cordon::internal
