#include "cordon/net-proxy/proxy.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "core.h"
#include "endpoint.h"
#include "session.h"
#include "session_record.h"

namespace cordon {
namespace internal::egress {
namespace {

// What all ways out have in common.
template <typename Base>
class Served : public Base {
 public:
  Served(std::shared_ptr<Core> core, std::unique_ptr<Session> session,
         std::shared_ptr<SessionRecord> record)
      : core_(std::move(core)), session_(std::move(session)), record_(std::move(record)) {}
  ~Served() override {
    core_->loop->RunAndWait([this] { session_.reset(); });
  }

  [[nodiscard]] std::vector<Denial> Denials() const override {
    core_->loop->RunAndWait([this] { session_->CatchUp(); });
    return record_->Denials();
  }
  [[nodiscard]] std::vector<NetworkTarget> Used() const override { return record_->Used(); }
  [[nodiscard]] std::vector<NetworkTarget> Approved() const override { return record_->Approved(); }
  [[nodiscard]] std::vector<NetworkTarget> UsedByAddress() const override {
    core_->loop->RunAndWait([this] {
      session_->CatchUp();
      session_->NoteProtocols();
    });
    return record_->UsedByAddress();
  }
  [[nodiscard]] absl::Status Revoke(const NetworkTarget& target) override {
    core_->loop->RunAndWait([&] { session_->Revoke(target); });
    return absl::OkStatus();
  }

 protected:
  [[nodiscard]] EventLoop& loop() { return *core_->loop; }
  [[nodiscard]] Session& session() { return *session_; }

 private:
  std::shared_ptr<Core> core_;
  std::unique_ptr<Session> session_;  // The loop's.
  std::shared_ptr<SessionRecord> record_;
};

class ServedSession final : public Served<EgressSession> {
 public:
  using Served::Served;
};

class ServedFront final : public Served<EgressFront> {
 public:
  ServedFront(std::shared_ptr<Core> core, std::unique_ptr<Session> session,
              std::shared_ptr<SessionRecord> record, std::uint16_t port)
      : Served(std::move(core), std::move(session), std::move(record)), port_(port) {}
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  const std::uint16_t port_;
};

class ServedDoor final : public Served<EgressDoor> {
 public:
  ServedDoor(std::shared_ptr<Core> core, std::unique_ptr<Session> session,
             std::shared_ptr<SessionRecord> record, std::uint16_t port)
      : Served(std::move(core), std::move(session), std::move(record)), port_(port) {}
  [[nodiscard]] std::uint16_t port() const override { return port_; }

  [[nodiscard]] int Expect(std::uint16_t source_port, const std::string& address,
                           std::uint16_t port) override {
    const std::optional<IpAddress> ip = IpAddress::Parse(address);
    if (!ip.has_value()) return EADDRNOTAVAIL;
    int error = 0;
    loop().RunAndWait([&] { error = session().Expect(source_port, {*ip, port}); });
    return error;
  }
  void Forget(std::uint16_t source_port) override {
    loop().RunAndWait([&] { session().Forget(source_port); });
  }

 private:
  const std::uint16_t port_;
};

absl::Status CheckHasNoPorts(const EgressPlan& plan, std::string_view what) {
  if (plan.host_ports.empty() && plan.publish_ports.empty()) return absl::OkStatus();
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("%s has no ports of the host and publishes none", what));
}

class Proxy final : public NetProxy {
 public:
  Proxy(EgressProxyOptions options, RouteResolver routes, std::optional<TlsClient> tls)
      : has_authorizer_(options.authorizer != nullptr),
        route_fingerprint_(routes.Fingerprint()),
        parts_(Parts{std::move(options), std::move(routes), std::move(tls)}) {}

  [[nodiscard]] bool HasAuthorizer() const override { return has_authorizer_; }
  [[nodiscard]] std::string RouteFingerprint() const override { return route_fingerprint_; }

  absl::StatusOr<std::unique_ptr<EgressSession>> Serve(
      EgressPlan plan, std::shared_ptr<SandboxNetwork> network) override {
    const absl::StatusOr<std::shared_ptr<Core>> core = StartedCore();
    if (!core.ok()) return core.status();
    auto record = std::make_shared<SessionRecord>();
    auto session = std::make_unique<Session>(**core, std::move(plan), std::move(network), record);
    absl::Status status = session->Bind();
    if (status = Open(**core, std::move(status), session); !status.ok()) return status;
    return std::make_unique<ServedSession>(*core, std::move(session), std::move(record));
  }

  absl::StatusOr<std::unique_ptr<EgressFront>> ServeFront(EgressPlan plan,
                                                          EgressFrontOptions options) override {
    absl::Status status = CheckHasNoPorts(plan, "an explicit proxy");
    if (!status.ok()) return status;
    const std::optional<IpAddress> ip = IpAddress::Parse(options.address);
    if (!ip.has_value()) {
      return MakeError(ErrorCode::kInvalidTarget,
                       absl::StrFormat("\"%s\" is no address to listen at", options.address));
    }
    const absl::StatusOr<std::shared_ptr<Core>> core = StartedCore();
    if (!core.ok()) return core.status();
    auto record = std::make_shared<SessionRecord>();
    auto session = std::make_unique<Session>(**core, std::move(plan), nullptr, record);
    const absl::StatusOr<std::uint16_t> port =
        session->BindFront({*ip, options.port}, options.credential);
    if (status = Open(**core, port.status(), session); !status.ok()) return status;
    return std::make_unique<ServedFront>(*core, std::move(session), std::move(record), *port);
  }

  absl::StatusOr<std::unique_ptr<EgressDoor>> ServeDoor(EgressPlan plan) override {
    absl::Status status = CheckHasNoPorts(plan, "a command without a network");
    if (!status.ok()) return status;
    const absl::StatusOr<std::shared_ptr<Core>> core = StartedCore();
    if (!core.ok()) return core.status();
    auto record = std::make_shared<SessionRecord>();
    auto session = std::make_unique<Session>(**core, std::move(plan), nullptr, record);
    const absl::StatusOr<std::uint16_t> port = session->BindDoor();
    if (status = Open(**core, port.status(), session); !status.ok()) return status;
    return std::make_unique<ServedDoor>(*core, std::move(session), std::move(record), *port);
  }

 private:
  // Opens a session that was bound, or takes it apart: both belong to the loop.
  static absl::Status Open(const Core& core, absl::Status status,
                           std::unique_ptr<Session>& session) {
    core.loop->RunAndWait([&] {
      if (status.ok()) status = session->Open();
      if (!status.ok()) session.reset();
    });
    return status;
  }

  // For the first session: a program may never have one.
  absl::StatusOr<std::shared_ptr<Core>> StartedCore() {
    const std::lock_guard lock(mutex_);
    if (core_ != nullptr) return core_;
    absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create();
    if (!loop.ok()) return loop.status();
    core_ = std::make_shared<Core>(std::move(parts_->options), std::move(parts_->routes),
                                   std::move(parts_->tls), *std::move(loop));
    parts_.reset();
    return core_;
  }

  struct Parts {
    EgressProxyOptions options;
    RouteResolver routes;
    std::optional<TlsClient> tls;
  };

  const bool has_authorizer_;
  const std::string route_fingerprint_;
  std::mutex mutex_;
  std::optional<Parts> parts_;  // Of the core, until it is there.
  std::shared_ptr<Core> core_;
};

}  // namespace
}  // namespace internal::egress

absl::StatusOr<EgressOverride> ParseEgressOverride(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return MakeError(ErrorCode::kInvalidTarget,
                     "an override is NAME:PORT=ADDRESS:PORT, as in example.com:443=127.0.0.1:8443");
  }
  absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(text.substr(0, equals));
  if (!target.ok()) return target.status();
  absl::StatusOr<NetworkTarget> address = ParseNetworkTarget(text.substr(equals + 1));
  if (!address.ok()) return address.status();
  if (IsPattern(*target) || !address->is_address || IsPattern(*address)) {
    return MakeError(ErrorCode::kInvalidTarget,
                     "an override maps one NAME:PORT to one ADDRESS:PORT, without patterns");
  }
  return EgressOverride{*std::move(target), address->host, address->port};
}

absl::StatusOr<std::unique_ptr<NetProxy>> NewEgressProxy(EgressProxyOptions options) {
  absl::StatusOr<RouteResolver> routes = RouteResolver::Create(options.route);
  if (!routes.ok()) return routes.status();
  std::optional<internal::egress::TlsClient> tls;
  if (options.route.tls) {
    absl::StatusOr<internal::egress::TlsClient> client =
        internal::egress::TlsClient::Create(options.route.proxy_host, options.route.ca_file);
    if (!client.ok()) return client.status();
    tls = *std::move(client);
  }
  return std::make_unique<internal::egress::Proxy>(std::move(options), *std::move(routes),
                                                   std::move(tls));
}

}  // namespace cordon
