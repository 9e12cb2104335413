// The way in for commands whose sockets are connected for them (EgressDoor).

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "cordon/sdk/address_class.h"
#include "session.h"
#include "socket_calls.h"

namespace cordon::internal::egress {

absl::StatusOr<std::uint16_t> Session::BindDoor() {
  absl::StatusOr<UniqueFd> fd = MakeHostSocket(AF_INET, SOCK_STREAM);
  if (!fd.ok()) return fd.status();
  const Endpoint local{IpAddress::V4(0x7f000001), 0};
  if (absl::Status status = BindAndListen(fd->get(), local, SOCK_STREAM, "a command's connections");
      !status.ok()) {
    return status;
  }
  dns_ = std::make_unique<DnsServer>(
      loop(), [this](std::string_view message) { return AnswerDns(message); });
  const std::uint16_t port = LocalEndpoint(fd->get()).port;
  AddListener(*std::move(fd), [this](UniqueFd client) { AcceptAtDoor(std::move(client)); });
  return port;
}

// Whatever address the host's resolver has, a command asks this one, unless it was granted just
// that address: a range or a pattern means servers, and would take the names away from the proxy.
bool Session::IsResolver(const Endpoint& to) const {
  if (to.port != kDnsPort || names_.IsSynthetic(to.ip)) return false;
  const NetworkTarget target{.host = to.ip.Text(), .port = to.port, .is_address = true};
  return std::find(plan_.targets.begin(), plan_.targets.end(), target) == plan_.targets.end();
}

int Session::Expect(std::uint16_t source_port, const Endpoint& to) {
  if (!IsResolver(to)) {
    // A sandbox's own loopback, if it had a network; nothing listens there.
    const AddressClass address_class = ClassifyAddress(to.ip);
    if (address_class == AddressClass::kLoopback || address_class == AddressClass::kUnspecified) {
      return ECONNREFUSED;
    }
    const NetworkTarget target = TargetAt(to);
    const EgressDecision decision = decisions_.Decide(target);
    if (decision.verdict == EgressVerdict::kDeny) {
      Deny(target, decision.rule, AllowWith(target));
      return names_.IsSynthetic(to.ip) ? ECONNREFUSED : ENETUNREACH;
    }
  }
  return expected_.Add(source_port, to, SteadyClock::now()) ? 0 : ECONNREFUSED;
}

void Session::AcceptAtDoor(UniqueFd client) {
  const std::optional<Endpoint> to = expected_.Take(PeerEndpoint(client.get()), SteadyClock::now());
  if (!to.has_value()) return;  // Somebody else on this host.
  if (IsResolver(*to)) return dns_->Serve(std::move(client));
  Accept(Connection::Kind::kTarget, TargetAt(*to), std::move(client));
}

}  // namespace cordon::internal::egress
