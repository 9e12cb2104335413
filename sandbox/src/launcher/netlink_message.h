// What the kernel is asked by netlink(7): one message, or several that take effect together.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_NETLINK_MESSAGE_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_NETLINK_MESSAGE_H_

#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>

#include "launcher/fd.h"
#include "launcher/route_socket.h"
#include "launcher/text.h"

namespace cordon::launcher {

// A header, a record and attributes, some of which hold others.
class NetlinkMessage {
 public:
  template <typename Record>
  NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Record& record) {
    Next(type, static_cast<std::uint16_t>(NLM_F_ACK | flags), record);
  }

  // Begins another message behind this one; both are sent at once. `flags` have NLM_F_ACK for the
  // last one that is to be answered.
  template <typename Record>
  void Next(std::uint16_t type, std::uint16_t flags, const Record& record) {
    Finish();
    start_ = size_;
    header()->nlmsg_type = type;
    header()->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    size_ += NLMSG_HDRLEN;
    AddBytes(&record, sizeof(record));
  }

  void Add(std::uint16_t type, const void* value, std::size_t size) {
    const rtattr attribute = {static_cast<std::uint16_t>(RTA_LENGTH(size)), type};
    AddBytes(&attribute, sizeof(attribute));
    AddBytes(value, size);
  }
  void Add(std::uint16_t type, std::uint32_t value) { Add(type, &value, sizeof(value)); }
  void Add(std::uint16_t type, const char* text) { Add(type, text, Length(text) + 1); }
  void Add(std::uint16_t type, const IpPrefix& address) {
    Add(type, address.bytes, address.size());
  }

  // What is added until `End` is inside of it.
  std::size_t Begin(std::uint16_t type) {
    const std::size_t start = size_;
    Add(type, nullptr, 0);
    return start;
  }
  void End(std::size_t start) {
    reinterpret_cast<rtattr*>(bytes_ + start)->rta_len = static_cast<std::uint16_t>(size_ - start);
  }
  template <typename Record>
  void AddRecord(const Record& record) {
    AddBytes(&record, sizeof(record));
  }

  // The errno of the kernel's first answer.
  int Ask(int socket) {
    Finish();
    const long sent = Call(__NR_sendto, socket, bytes_, size_, 0, nullptr, 0);
    if (ErrorOf(sent) != 0) return ErrorOf(sent);
    start_ = 0;
    long got;
    do {
      got = Call(__NR_recvfrom, socket, bytes_, sizeof(bytes_), 0, nullptr, nullptr);
    } while (got == -EINTR);
    if (ErrorOf(got) != 0) return ErrorOf(got);
    if (got < static_cast<long>(NLMSG_LENGTH(sizeof(nlmsgerr)))) return EIO;
    if (header()->nlmsg_type != NLMSG_ERROR) return EIO;
    return -reinterpret_cast<const nlmsgerr*>(bytes_ + NLMSG_HDRLEN)->error;
  }

 private:
  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_ + start_); }
  void Finish() { header()->nlmsg_len = static_cast<std::uint32_t>(size_ - start_); }

  // Everything here is far smaller than the buffer.
  void AddBytes(const void* value, std::size_t size) {
    const auto* from = static_cast<const char*>(value);
    for (std::size_t i = 0; i < size && size_ + i < sizeof(bytes_); ++i)
      bytes_[size_ + i] = from[i];
    size_ += RTA_ALIGN(size);
  }

  alignas(8) char bytes_[2048] = {};
  std::size_t start_ = 0;  // Of the current message.
  std::size_t size_ = 0;
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_NETLINK_MESSAGE_H_
