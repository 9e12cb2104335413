// Where one execution's way out listens.

#include <netinet/in.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/address_class.h"
#include "cordon/sdk/status.h"
#include "session.h"
#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

// Where connections are held when nobody decided yet and each listener has one port.
constexpr std::uint16_t kPortsToAskAbout[] = {22,   80,   443,  3000, 3306, 5000,
                                              5432, 6379, 8000, 8080, 8443, 9418};

NetworkTarget PortOf(std::uint16_t port) {
  return {.host = "127.0.0.1", .port = port, .is_address = true};
}

// What a sandbox has itself, or nobody has. Such a target only says where a name may lead.
bool IsOwnAddress(const std::string& host) {
  const std::optional<IpPrefix> range = IpPrefix::Parse(host);
  if (!range.has_value()) return true;
  if (SpecialPrefixBits(*range) == 0) return false;  // Others are in it too.
  const AddressClass address_class = ClassifyAddress(range->address);
  return address_class == AddressClass::kLoopback || address_class == AddressClass::kUnspecified ||
         address_class == AddressClass::kMulticast;
}

}  // namespace

absl::Status Session::Bind() {
  if (absl::Status status = BindResolver(); !status.ok()) return status;
  BindWatch();
  if (absl::Status status = BindPorts(); !status.ok()) return status;
  for (const std::uint16_t port : plan_.host_ports) {
    if (absl::Status status = BindHostPort(port); !status.ok()) return status;
  }
  for (const std::uint16_t port : plan_.publish_ports) {
    if (absl::Status status = BindPublishedPort(port); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Session::NetworkSocket(SandboxNetwork::Side side, int family, int type,
                                                const char* address, std::uint16_t port,
                                                std::string_view what) {
  absl::StatusOr<UniqueFd> fd = network_->MakeSocket(side, family, type);
  if (!fd.ok()) return fd.status();
  if (family == AF_INET6) {
    // The wildcard takes IPv4 too; the loopback has an IPv4 socket beside it.
    const int v6_only = std::string_view(address) == "::" ? 0 : 1;
    setsockopt(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
  }
  const Endpoint local{*IpAddress::Parse(address), port};
  if (absl::Status status = BindAndListen(fd->get(), local, type, what); !status.ok()) {
    return status;
  }
  return fd;
}

absl::Status Session::BindResolver() {
  const auto side = SandboxNetwork::Side::kGateway;
  absl::StatusOr<UniqueFd> datagrams =
      NetworkSocket(side, AF_INET, SOCK_DGRAM, kGatewayAddress, kDnsPort, "the resolver");
  if (!datagrams.ok()) return datagrams.status();
  absl::StatusOr<UniqueFd> streams =
      NetworkSocket(side, AF_INET, SOCK_STREAM, kGatewayAddress, kDnsPort, "the resolver");
  if (!streams.ok()) return streams.status();
  dns_ =
      std::make_unique<DnsServer>(loop(), *std::move(datagrams), *std::move(streams),
                                  [this](std::string_view message) { return AnswerDns(message); });
  return absl::OkStatus();
}

// Nothing depends on it but what the report can say, so that a network without one is served too.
void Session::BindWatch() {
  absl::StatusOr<UniqueFd> fd =
      network_->MakeSocket(SandboxNetwork::Side::kGateway, AF_PACKET, SOCK_DGRAM);
  if (!fd.ok() || !BindSynWatch(fd->get()).ok()) return;
  watch_ = std::make_unique<SynWatch>(loop(), *std::move(fd),
                                      [this](const Endpoint& target) { OnConnect(target); });
}

absl::Status Session::BindPorts() {
  for (const NetworkTarget& target : plan_.targets) {
    gateway_ports_.insert(target.port);
    if (!target.is_address || IsOwnAddress(target.host)) continue;
    if (absl::Status status = network_->RouteAddress(target.host); !status.ok()) return status;
  }
  const bool has_any_port = gateway_ports_.contains(0);
  if (has_any_port || decisions_.asks()) {
    absl::Status status = BindEveryPort();
    every_port_ = status.ok();
    if (every_port_) return absl::OkStatus();
    if (has_any_port) return status;
    gateway_ports_.insert(std::begin(kPortsToAskAbout), std::end(kPortsToAskAbout));
  }
  for (const std::uint16_t port : gateway_ports_) {
    if (absl::Status status = BindGatewayPort(port); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Session::BindEveryPort() {
  absl::StatusOr<UniqueFd> fd = network_->ListenAtEveryPort();
  if (!fd.ok()) {
    return MakeError(ErrorCode::kUnavailable,
                     absl::StrCat("any port of a target (--net HOST:*) cannot be served; name the "
                                  "ports, as in --net HOST:443: ",
                                  fd.status().message()));
  }
  AddListener(*std::move(fd), [this](UniqueFd client) { AcceptInGateway(std::move(client)); });
  return absl::OkStatus();
}

absl::Status Session::BindGatewayPort(std::uint16_t port) {
  const auto side = SandboxNetwork::Side::kGateway;
  const std::string what = absl::StrFormat("the targets at port %d", port);
  absl::StatusOr<UniqueFd> fd = NetworkSocket(side, AF_INET6, SOCK_STREAM, "::", port, what);
  // A kernel without IPv6.
  if (!fd.ok()) fd = NetworkSocket(side, AF_INET, SOCK_STREAM, "0.0.0.0", port, what);
  if (!fd.ok()) return fd.status();
  AddListener(*std::move(fd), [this](UniqueFd client) { AcceptInGateway(std::move(client)); });
  return absl::OkStatus();
}

absl::Status Session::BindHostPort(std::uint16_t port) {
  const auto side = SandboxNetwork::Side::kSandbox;
  const std::string what = absl::StrFormat("the host's port %d", port);
  const Listener::Accepted accepted = [this, port](UniqueFd client) {
    Accept(Connection::Kind::kHostPort, PortOf(port), std::move(client));
  };
  absl::StatusOr<UniqueFd> v4 = NetworkSocket(side, AF_INET, SOCK_STREAM, "127.0.0.1", port, what);
  if (!v4.ok()) return v4.status();
  AddListener(*std::move(v4), accepted);
  // Beside it, for programs that try it first; without IPv6 they do not.
  absl::StatusOr<UniqueFd> v6 = NetworkSocket(side, AF_INET6, SOCK_STREAM, "::1", port, what);
  if (v6.ok()) AddListener(*std::move(v6), accepted);
  return absl::OkStatus();
}

absl::Status Session::BindPublishedPort(std::uint16_t port) {
  absl::StatusOr<UniqueFd> fd = MakeHostSocket(AF_INET, SOCK_STREAM);
  if (!fd.ok()) return fd.status();
  const Endpoint local{IpAddress::V4(0x7f000001), port};
  if (absl::Status status = BindAndListen(fd->get(), local, SOCK_STREAM,
                                          absl::StrFormat("the published port %d", port));
      !status.ok()) {
    return status;
  }
  AddListener(*std::move(fd), [this, port](UniqueFd client) {
    Accept(Connection::Kind::kPublish, PortOf(port), std::move(client));
  });
  return absl::OkStatus();
}

absl::StatusOr<std::uint16_t> Session::BindFront(const Endpoint& local,
                                                 std::string_view credential) {
  credential_ = Credential(credential);
  absl::StatusOr<UniqueFd> fd = MakeHostSocket(local.ip.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM);
  if (!fd.ok()) return fd.status();
  if (absl::Status status = BindAndListen(fd->get(), local, SOCK_STREAM, "the proxy");
      !status.ok()) {
    return status;
  }
  const std::uint16_t port = LocalEndpoint(fd->get()).port;
  AddListener(*std::move(fd),
              [this](UniqueFd client) { AcceptAtFront(std::move(client), "", false); });
  return port;
}

}  // namespace cordon::internal::egress
