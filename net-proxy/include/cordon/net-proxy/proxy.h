// The egress proxy: what a sandbox's network reaches, decided by name and port. It implements
// cordon/sdk/egress.h for networks with a gateway (design section 8), where no program inside needs
// to know about it: a granted name resolves to a synthetic address, and what connects there is
// relayed to that name and no other. TLS is never terminated.

#ifndef CORDON_NET_PROXY_PROXY_H_
#define CORDON_NET_PROXY_PROXY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/net-proxy/route.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/network_target.h"

namespace cordon {

// For tests, as curl's --resolve: connections to `target` are dialled at `address`:`port`, whatever
// kind of address that is. It grants nothing.
struct EgressOverride {
  NetworkTarget target;  // One host and one port.
  std::string address;   // A canonical literal, IPv6 without brackets.
  std::uint16_t port = 0;

  friend bool operator==(const EgressOverride&, const EgressOverride&) = default;
};

// Reads `NAME:PORT=ADDRESS:PORT2`, IPv6 in brackets. Returns kInvalidTarget for anything else.
[[nodiscard]] absl::StatusOr<EgressOverride> ParseEgressOverride(std::string_view text);

struct EgressLimits {
  // Of one execution, open or held. At the limit new ones wait in the listener's queue.
  std::size_t max_connections = 512;
  // Synthetic addresses of one execution: a name keeps its address, later names get none.
  std::size_t max_names = 4096;
  // The longest ClientHello or HTTP head.
  std::size_t max_head_bytes = std::size_t{64} * 1024;
  // For a connection on which neither side says anything, and for a head that does not end.
  std::chrono::milliseconds first_byte_timeout{30'000};
  std::chrono::milliseconds dial_timeout{15'000};
  // How long a connection is held while somebody is asked.
  std::chrono::milliseconds ask_timeout{120'000};
};

struct EgressProxyOptions {
  // Decides what plans with `gated` do not cover. Null: nobody does.
  std::shared_ptr<EgressAuthorizer> authorizer;
  std::vector<EgressOverride> overrides;
  EgressRoute route;  // Direct, by default.
  EgressLimits limits;
  // Gets one "egress" record for each connection and for the first denial of each target. Null: no
  // log. Appended to by a thread of the proxy's own.
  std::shared_ptr<LogSink> log;
  // A ClientHello that hides its server name: its outer name is all that could be checked.
  bool allow_encrypted_client_hello = false;
  // All addresses of a name, as text; may block. Null: getaddrinfo(3).
  std::function<absl::StatusOr<std::vector<std::string>>(const std::string& name)> lookup;
};

// An `EgressProxy` of which `ServeFront` serves HTTP/1.1 (requests in absolute form, CONNECT) and
// SOCKS 5 on one port, by the same decisions as `Serve`. Names are looked up here alone. A client
// that is refused is told why in its protocol. Targets with any port are served.
using NetProxy = EgressProxy;

// What `Serve` of this proxy does beyond its contract in egress.h:
//  * Resolver: UDP and TCP on the gateway's 192.0.0.2:53. A granted name has an A record that stays
//    the same for the execution; AAAA, HTTPS and SVCB have no data; every other name does not exist
//    and is a denial `name:HOST`. Nothing is looked up for the answer. With `gated` and an
//    authorizer, names with a dot that nobody decided about get an address too, and connections to
//    them are held while the authorizer is asked: do not set it when nobody can answer.
//  * A name that resolves to an address which is not public is refused, unless that address is a
//    target of the plan too, or an override says so. Behind an organisation's proxy that is the
//    proxy's to judge.
//  * What a connection says first is compared with the name it was made to: the server name of a
//    ClientHello, the Host of each HTTP/1 request. Other protocols are allowed by name and port
//    alone; the log says which it was.
//  * It asks the network for an AF_PACKET socket in the gateway. Where it gets one, connects to
//    ports and addresses that nobody listens at are denials too, as far as they get to the gateway.
//  * Targets with any port (`HOST:*`), and names that the authorizer decides about, are served at
//    every port where the network listens at all of them. Elsewhere the former are kUnavailable,
//    and the latter have a few common ports.
//
// Returns kInvalidTarget for a malformed route and kInvalidOption for certificates that cannot be
// read. The log of a connection names the address that was dialled: the proxy's, where there is
// one.
[[nodiscard]] absl::StatusOr<std::unique_ptr<NetProxy>> NewEgressProxy(EgressProxyOptions options);

}  // namespace cordon

#endif  // CORDON_NET_PROXY_PROXY_H_
