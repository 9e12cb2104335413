// The way from this host to a target: directly, or through an organisation's HTTP proxy. A route is
// chosen when the egress proxy is made and by nothing that a command does; what the proxy refuses
// or cannot do is not tried directly.

#ifndef CORDON_NET_PROXY_ROUTE_H_
#define CORDON_NET_PROXY_ROUTE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/network_target.h"

namespace cordon {

struct EgressRoute {
  // Direct, while this is empty. Else an HTTP proxy, by name or literal address: it is asked for a
  // tunnel (CONNECT) to each target by name, and looks names up itself.
  std::string proxy_host;
  std::uint16_t proxy_port = 0;
  // The proxy is spoken to over TLS 1.2 or newer, and must show a certificate for `proxy_host`.
  bool tls = false;
  // PEM certificates that may have issued it. Empty: those that the host trusts.
  std::string ca_file;
  std::string
      credential;  // `USER:PASSWORD` for it (Basic); in no log, report, error or fingerprint.
  // Reached directly all the same: names, `*.name`, addresses or ranges of them (`10.0.0.0/8`), and
  // `*`; each with `:PORT` or for every port.
  std::vector<std::string> exceptions;
};

// Reads `http[s]://[USER:PASSWORD@]HOST[:PORT]`; the port is 80 or 443 by default. Returns
// kInvalidTarget, without the text of the credential, for anything else.
[[nodiscard]] absl::StatusOr<EgressRoute> ParseEgressRoute(std::string_view text);

// The route that HTTPS_PROXY or https_proxy names (the latter first, as curl(1) does), with the
// exceptions of NO_PROXY or no_proxy; direct when neither is set. `variable` is getenv(3) or like
// it. For applications whose profile says so; nothing here reads the environment by itself. Returns
// kInvalidTarget with the name of the variable when its text cannot be read.
[[nodiscard]] absl::StatusOr<EgressRoute> EgressRouteOfEnvironment(
    const std::function<std::optional<std::string>(const char* name)>& variable);

// NO_PROXY's list: a name stands for itself and its subdomains, with or without a leading dot.
// Entries that name no host are left out: they could only make fewer targets direct.
[[nodiscard]] std::vector<std::string> ParseNoProxy(std::string_view text);

// Which route a target takes: of what was configured, and of nothing else. Safe from any thread.
class RouteResolver {
 public:
  RouteResolver() = default;  // Everything directly.
  // Returns kInvalidTarget for a malformed host, port, credential or exception.
  [[nodiscard]] static absl::StatusOr<RouteResolver> Create(EgressRoute route);

  // The proxy for `target`; null: directly.
  [[nodiscard]] const EgressRoute* ProxyFor(const NetworkTarget& target) const;

  [[nodiscard]] const EgressRoute& route() const { return route_; }

  // "direct", or a digest of all but the secret: equal for equal routes.
  [[nodiscard]] std::string Fingerprint() const;

 private:
  EgressRoute route_;
  std::vector<NetworkTarget> exceptions_;
};

}  // namespace cordon

#endif  // CORDON_NET_PROXY_ROUTE_H_
