#include "network_namespaces.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "deadline_poll.h"

namespace cordon::internal {
namespace {

// For the keeper, which needs microseconds, or milliseconds to make everything.
constexpr std::chrono::seconds kPatience(10);

absl::Status Gone() {
  return MakeError(ErrorCode::kUnavailable, "the keeper of the sandbox's network has ended");
}

absl::Status NotRoutable(const std::string& address, std::string_view why) {
  return MakeError(ErrorCode::kInvalidTarget,
                   absl::StrFormat("%s cannot be reached from a sandbox: %s", address, why));
}

struct Prefix {
  int family = 0;
  unsigned bits = 0;
  unsigned char bytes[16] = {};
};

std::optional<Prefix> ParsePrefix(std::string_view text) {
  Prefix prefix;
  const std::size_t slash = text.find('/');
  const std::string literal(text.substr(0, slash));
  prefix.family = literal.find(':') == std::string::npos ? AF_INET : AF_INET6;
  const unsigned most = prefix.family == AF_INET ? 32 : 128;
  prefix.bits = most;
  if (inet_pton(prefix.family, literal.c_str(), prefix.bytes) != 1) return std::nullopt;
  if (slash == std::string_view::npos) return prefix;
  const std::string_view length = text.substr(slash + 1);
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), prefix.bits);
  const bool whole = error == std::errc() && end == length.data() + length.size();
  return whole && prefix.bits <= most ? std::optional(prefix) : std::nullopt;
}

// Why `prefix` is no place outside; empty when it may be one. A wide prefix may hold such places:
// what the namespace itself has more exactly wins.
std::string_view WhyOwn(const Prefix& prefix) {
  if (prefix.family == AF_INET) {
    std::uint32_t address = 0;
    std::memcpy(&address, prefix.bytes, sizeof(address));
    address = ntohl(address);
    if (address >> 24 == 127 || (address >> 24 == 0 && prefix.bits > 0)) {
      return "it is the sandbox's own; see --host-port";
    }
    if (address >> 28 == 0xe || address == 0xffffffff) return "it stands for no single host";
    if (address == 0xc0000001 || address == 0xc0000002) return "it is the sandbox's own";
    return "";
  }
  in6_addr address;
  std::memcpy(&address, prefix.bytes, sizeof(address));
  if (IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_UNSPECIFIED(&address) && prefix.bits > 0)) {
    return "it is the sandbox's own; see --host-port";
  }
  if (IN6_IS_ADDR_MULTICAST(&address)) return "it stands for no single host";
  if (IN6_IS_ADDR_V4MAPPED(&address)) return "write it as the IPv4 address";
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return "it means nothing without an interface";
  constexpr unsigned char kLink[] = {0xfd, 0, 0, 0xc0, 0, 0xd1};
  if (std::memcmp(prefix.bytes, kLink, sizeof(kLink)) == 0) return "it is the sandbox's own";
  return "";
}

absl::StatusOr<UniqueFd> Listening(UniqueFd socket, int family) {
  sockaddr_in6 any6 = {};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(kEveryPortListener);
  sockaddr_in any4 = {};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(kEveryPortListener);
  const auto* any = family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&any6)
                                       : reinterpret_cast<const sockaddr*>(&any4);
  const socklen_t size = family == AF_INET6 ? sizeof(any6) : sizeof(any4);
  const int on = 1;
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket.get(), any, size) != 0 || listen(socket.get(), SOMAXCONN) != 0) {
    return MakeErrnoError(errno, "cannot listen in the sandbox's network");
  }
  return socket;
}

}  // namespace

absl::StatusOr<std::shared_ptr<NetworkNamespaces>> NetworkNamespaces::Begin(
    std::shared_ptr<Launcher> launcher, bool with_gateway) {
  absl::StatusOr<StartedNetwork> started = launcher->MakeNetwork(with_gateway);
  if (!started.ok()) return started.status();
  return std::shared_ptr<NetworkNamespaces>(
      new NetworkNamespaces(std::move(launcher), *std::move(started)));
}

NetworkNamespaces::~NetworkNamespaces() {
  if (!AwaitKeeperLocked().ok()) return;
  (void)syscall(SYS_pidfd_send_signal, keeper_.get(), SIGKILL, nullptr, 0);
  (void)ReadableUntil(keeper_.get(), std::chrono::steady_clock::now() + kPatience);
}

absl::Status NetworkNamespaces::AwaitKeeperLocked() {
  if (keeper_.valid()) return absl::OkStatus();
  if (launcher_ == nullptr) return Gone();
  absl::StatusOr<UniqueFd> keeper = launcher_->AwaitKeeper(started_);
  launcher_.reset();
  if (!keeper.ok()) return keeper.status();
  keeper_ = *std::move(keeper);
  return keeper_.valid() ? absl::OkStatus() : MakeErrnoError(EMFILE, "cannot take in a pidfd");
}

absl::StatusOr<UniqueFd> NetworkNamespaces::MakeSocket(Side side, int family, int type) {
  NetworkRequest request;
  request.kind = NetworkRequest::Kind::kSocket;
  request.is_gateway = side == Side::kGateway;
  request.family = static_cast<std::uint8_t>(family);
  request.type = static_cast<std::uint8_t>(type);
  return AskForSocket(request);
}

absl::StatusOr<UniqueFd> NetworkNamespaces::ListenAtEveryPort() {
  absl::StatusOr<UniqueFd> made;
  for (const int family : {AF_INET6, AF_INET}) {  // The second on a kernel without IPv6.
    NetworkRequest request;
    request.kind = NetworkRequest::Kind::kSocketForEveryPort;
    request.family = static_cast<std::uint8_t>(family);
    made = AskForSocket(request);
    if (made.ok()) made = Listening(*std::move(made), family);
    if (made.ok()) return made;
  }
  return MakeError(ErrorCode::kUnavailable,
                   absl::StrFormat("the kernel leads no connections of every port to one listener "
                                   "(nf_tables with tproxy): %s",
                                   made.status().message()));
}

absl::StatusOr<UniqueFd> NetworkNamespaces::AskForSocket(const NetworkRequest& request) {
  absl::StatusOr<Answer> answer = Ask(request);
  if (!answer.ok()) return answer.status();
  if (const int error = answer->reply.error_number) {
    return MakeErrnoError(error, "cannot make a socket in the sandbox's network");
  }
  // Without one this program has no descriptor to spare.
  if (!answer->descriptor.valid()) return MakeErrnoError(EMFILE, "cannot take in a socket");
  return std::move(answer->descriptor);
}

absl::Status NetworkNamespaces::RouteAddress(const std::string& address) {
  const std::optional<Prefix> prefix = ParsePrefix(address);
  if (!prefix.has_value()) return NotRoutable(address, "it is no address");
  if (const std::string_view why = WhyOwn(*prefix); !why.empty()) return NotRoutable(address, why);
  NetworkRequest request;
  request.kind = NetworkRequest::Kind::kRoute;
  request.family = static_cast<std::uint8_t>(prefix->family);
  request.prefix_length = static_cast<std::uint8_t>(prefix->bits);
  std::memcpy(request.address, prefix->bytes, sizeof(request.address));
  const absl::StatusOr<Answer> answer = Ask(request);
  if (!answer.ok()) return answer.status();
  if (const int error = answer->reply.error_number) {
    return MakeErrnoError(error, absl::StrFormat("cannot route %s to the gateway", address));
  }
  return absl::OkStatus();
}

absl::Status NetworkNamespaces::AwaitReady() {
  const std::lock_guard lock(mutex_);
  if (sandbox_.valid()) return absl::OkStatus();
  if (absl::Status begun = AwaitKeeperLocked(); !begun.ok()) return begun;
  absl::StatusOr<Answer> answer = Receive();
  if (!answer.ok()) return answer.status();
  if (answer->reply.error_number != 0) {
    return MakeSetupFailure(StepName(answer->reply.step), answer->reply.error_number,
                            "cannot make the sandbox's network");
  }
  sandbox_ = std::move(answer->descriptor);
  if (!sandbox_.valid()) return MakeErrnoError(EMFILE, "cannot take in the sandbox's network");
  return absl::OkStatus();
}

absl::StatusOr<NetworkNamespaces::Answer> NetworkNamespaces::Ask(const NetworkRequest& request) {
  const std::lock_guard lock(mutex_);
  while (send(started_.socket.get(), &request, sizeof(request), MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return Gone();
  }
  return Receive();
}

absl::StatusOr<NetworkNamespaces::Answer> NetworkNamespaces::Receive() const {
  if (!ReadableUntil(started_.socket.get(), std::chrono::steady_clock::now() + kPatience)) {
    return Gone();
  }
  Answer answer;
  iovec vector = {&answer.reply, sizeof(answer.reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t size = 0;
  do {
    size = recvmsg(started_.socket.get(), &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&header); size > 0 && rights != nullptr) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(rights), sizeof(descriptor));
    answer.descriptor = UniqueFd(descriptor);
  }
  if (size != sizeof(answer.reply)) return Gone();
  return answer;
}

}  // namespace cordon::internal
