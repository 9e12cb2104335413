#include "cordon/net-proxy/proxy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "core.h"
#include "ip_address.h"
#include "session.h"
#include "session_record.h"

namespace cordon {
namespace internal::egress {
namespace {

// RFC 3986 section 2.1. False for a `%` without two digits, and for a control character.
bool PercentDecode(std::string_view text, std::string& out) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return false;
      c = static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20) return false;
    out.push_back(c);
  }
  return true;
}

class ServedSession final : public EgressFront {
 public:
  ServedSession(std::shared_ptr<Core> core, std::unique_ptr<Session> session,
                std::shared_ptr<SessionRecord> record, std::uint16_t port = 0)
      : core_(std::move(core)),
        session_(std::move(session)),
        record_(std::move(record)),
        port_(port) {}
  ~ServedSession() override {
    core_->loop->RunAndWait([this] { session_.reset(); });
  }

  [[nodiscard]] std::vector<Denial> Denials() const override {
    core_->loop->RunAndWait([this] { session_->CatchUp(); });
    return record_->Denials();
  }
  [[nodiscard]] std::vector<NetworkTarget> Used() const override { return record_->Used(); }
  [[nodiscard]] std::vector<NetworkTarget> UsedByAddress() const override {
    core_->loop->RunAndWait([this] {
      session_->CatchUp();
      session_->NoteProtocols();
    });
    return record_->UsedByAddress();
  }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  std::shared_ptr<Core> core_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<SessionRecord> record_;
  std::uint16_t port_;
};

class Proxy final : public NetProxy {
 public:
  explicit Proxy(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  [[nodiscard]] bool HasAuthorizer() const override { return core_->options.authorizer != nullptr; }

  absl::StatusOr<std::unique_ptr<EgressSession>> Serve(
      EgressPlan plan, std::shared_ptr<SandboxNetwork> network) override {
    auto record = std::make_shared<SessionRecord>();
    auto session = std::make_unique<Session>(*core_, std::move(plan), std::move(network), record);
    absl::Status status = session->Bind();
    if (status = Open(std::move(status), session); !status.ok()) return status;
    return std::make_unique<ServedSession>(core_, std::move(session), std::move(record));
  }

  absl::StatusOr<std::unique_ptr<EgressFront>> ServeFront(EgressPlan plan,
                                                          EgressFrontOptions options) override {
    if (!plan.host_ports.empty() || !plan.publish_ports.empty()) {
      return MakeError(ErrorCode::kInvalidOption,
                       "an explicit proxy has no ports of the host and publishes none");
    }
    const std::optional<IpAddress> ip = IpAddress::Parse(options.address);
    if (!ip.has_value()) {
      return MakeError(ErrorCode::kInvalidTarget,
                       absl::StrFormat("\"%s\" is no address to listen at", options.address));
    }
    auto record = std::make_shared<SessionRecord>();
    auto session = std::make_unique<Session>(*core_, std::move(plan), nullptr, record);
    const absl::StatusOr<std::uint16_t> port =
        session->BindFront({*ip, options.port}, options.credential);
    if (absl::Status status = Open(port.status(), session); !status.ok()) return status;
    return std::make_unique<ServedSession>(core_, std::move(session), std::move(record), *port);
  }

 private:
  // Opens a session that was bound, or takes it apart: both belong to the loop.
  absl::Status Open(absl::Status status, std::unique_ptr<Session>& session) {
    core_->loop->RunAndWait([&] {
      if (status.ok()) status = session->Open();
      if (!status.ok()) session.reset();
    });
    return status;
  }

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
  const bool is_pattern = target->port == 0 || target->host.starts_with('*');
  if (is_pattern || !address->is_address || address->port == 0) {
    return MakeError(ErrorCode::kInvalidTarget,
                     "an override maps one NAME:PORT to one ADDRESS:PORT, without patterns");
  }
  return EgressOverride{*std::move(target), address->host, address->port};
}

absl::StatusOr<EgressRoute> ParseEgressRoute(std::string_view text) {
  const absl::Status malformed =
      MakeError(ErrorCode::kInvalidTarget,
                "an upstream proxy is http://[USER:PASSWORD@]HOST:PORT, as in http://proxy:3128");
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) return malformed;
  text.remove_prefix(kScheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  EgressRoute route;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    if (!internal::egress::PercentDecode(text.substr(0, at), route.credential)) return malformed;
    if (route.credential.find(':') == std::string::npos) return malformed;
    text.remove_prefix(at + 1);
  }
  absl::StatusOr<NetworkTarget> host = ParseNetworkTarget(text);
  if (!host.ok() || host->port == 0 || host->host.starts_with('*')) return malformed;
  route.proxy_host = host->host;
  route.proxy_port = host->port;
  return route;
}

absl::StatusOr<std::unique_ptr<NetProxy>> NewEgressProxy(EgressProxyOptions options) {
  absl::StatusOr<std::unique_ptr<internal::egress::EventLoop>> loop =
      internal::egress::EventLoop::Create();
  if (!loop.ok()) return loop.status();
  return std::make_unique<internal::egress::Proxy>(
      std::make_shared<internal::egress::Core>(std::move(options), *std::move(loop)));
}

}  // namespace cordon
