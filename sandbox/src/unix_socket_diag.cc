#include "unix_socket_diag.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {
namespace {

struct BoundSocket {
  std::uint32_t number = 0;
  std::optional<KernelFileIdentity> file;
  std::string_view name;
};

using VisitSocket = absl::FunctionRef<void(const BoundSocket&)>;

struct Request {
  nlmsghdr header = {};
  unix_diag_req body = {};
};

bool Ask(int asking) {
  const timeval patience = {1, 0};
  (void)setsockopt(asking, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = (1U << TCP_LISTEN) | (1U << TCP_CLOSE);
  request.body.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS;
  return send(asking, &request, sizeof request, 0) == sizeof request;
}

void VisitOne(const nlmsghdr& message, VisitSocket visit) {
  if (message.nlmsg_len < NLMSG_LENGTH(sizeof(unix_diag_msg))) return;
  const auto* body = static_cast<const unix_diag_msg*>(NLMSG_DATA(&message));
  BoundSocket socket;
  socket.number = body->udiag_ino;
  int left = static_cast<int>(message.nlmsg_len - NLMSG_LENGTH(sizeof *body));
  for (const auto* at = reinterpret_cast<const rtattr*>(body + 1); RTA_OK(at, left);
       at = RTA_NEXT(at, left)) {
    if (at->rta_type == UNIX_DIAG_NAME) {
      socket.name = {static_cast<const char*>(RTA_DATA(at)), RTA_PAYLOAD(at)};
    } else if (at->rta_type == UNIX_DIAG_VFS && RTA_PAYLOAD(at) >= sizeof(unix_diag_vfs)) {
      unix_diag_vfs file = {};
      std::memcpy(&file, RTA_DATA(at), sizeof file);
      socket.file = KernelFileIdentity{file.udiag_vfs_dev, file.udiag_vfs_ino};
    }
  }
  visit(socket);
}

// False when the answer did not come to its end.
bool VisitBoundSockets(VisitSocket visit) {
  const UniqueFd asking(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!asking.valid() || !Ask(asking.get())) return false;
  constexpr std::size_t kRoom = 32 * 1024;  // What the kernel fills at most.
  alignas(nlmsghdr) std::array<char, kRoom> room;
  for (;;) {
    sockaddr_nl sender = {};
    socklen_t size = sizeof sender;
    const ssize_t got = recvfrom(asking.get(), room.data(), room.size(), MSG_TRUNC,
                                 reinterpret_cast<sockaddr*>(&sender), &size);
    if (got <= 0 || got > static_cast<ssize_t>(room.size())) return false;
    if (sender.nl_pid != 0) continue;  // Not the kernel.
    auto left = static_cast<unsigned>(got);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(room.data());
         NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return true;
      if (message->nlmsg_type == NLMSG_ERROR) return false;
      VisitOne(*message, visit);
    }
  }
}

template <typename Matches>
std::optional<SocketNumbers> Collect(Matches matches) {
  SocketNumbers numbers;
  const bool complete = VisitBoundSockets([&](const BoundSocket& socket) {
    if (matches(socket)) numbers.push_back(socket.number);
  });
  if (!complete) return std::nullopt;
  return numbers;
}

std::optional<std::uint64_t> FieldOf(const std::string& text, std::string_view name) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::uint64_t value = 0;
    if (line.substr(0, name.size()) == absl::string_view(name.data(), name.size()) &&
        absl::SimpleAtoi(line.substr(name.size()), &value)) {
      return value;
    }
  }
  return std::nullopt;
}

// As the kernel writes a device: MINORBITS of include/linux/kdev_t.h.
std::optional<std::uint32_t> DeviceOfMount(std::uint64_t mount) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // 36 35 98:0 ...
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    std::uint64_t id = 0;
    if (fields.size() < 3 || !absl::SimpleAtoi(fields[0], &id) || id != mount) continue;
    const std::vector<std::string> device = absl::StrSplit(fields[2], ':');
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    if (device.size() != 2 || !absl::SimpleAtoi(device[0], &major) ||
        !absl::SimpleAtoi(device[1], &minor)) {
      return std::nullopt;
    }
    constexpr unsigned kMinorBits = 20;
    return (major << kMinorBits) | minor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KernelFileIdentity> KernelIdentityOf(int object) {
  std::ifstream file(absl::StrCat("/proc/self/fdinfo/", object));
  std::ostringstream text;
  text << file.rdbuf();
  const std::optional<std::uint64_t> inode = FieldOf(text.str(), "ino:\t");
  const std::optional<std::uint64_t> mount = FieldOf(text.str(), "mnt_id:\t");
  if (!inode.has_value() || !mount.has_value()) return std::nullopt;
  const std::optional<std::uint32_t> device = DeviceOfMount(*mount);
  if (!device.has_value()) return std::nullopt;
  return KernelFileIdentity{*device, static_cast<std::uint32_t>(*inode)};
}

std::optional<SocketNumbers> SocketsBoundTo(const KernelFileIdentity& file) {
  return Collect([&file](const BoundSocket& socket) { return socket.file == file; });
}

std::optional<SocketNumbers> SocketsNamed(std::string_view name) {
  return Collect([name](const BoundSocket& socket) { return socket.name == name; });
}

bool TellsBoundSockets() {
  static const bool kept = VisitBoundSockets([](const BoundSocket&) {});
  return kept;
}

}  // namespace cordon::internal
