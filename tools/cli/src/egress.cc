#include "egress.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "cordon/net-proxy/proxy.h"
#include "cordon/sdk/status.h"

namespace cordon::cli {
namespace {

std::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// The proxy is made before the gate, which needs the executors that need the proxy.
class LateAuthorizer final : public EgressAuthorizer {
 public:
  void Set(std::shared_ptr<EgressGate> gate) {
    const std::lock_guard lock(mutex_);
    gate_ = std::move(gate);
  }

  std::shared_ptr<EgressGate> gate() {
    const std::lock_guard lock(mutex_);
    return gate_;
  }

  absl::StatusOr<EgressDecision> Decide(const std::string& execution_id,
                                        const NetworkTarget& target) override {
    const std::shared_ptr<EgressGate> decides = gate();
    if (decides == nullptr) return EgressDecision{EgressVerdict::kDeny, "not granted"};
    return decides->Decide(execution_id, target);
  }

  absl::StatusOr<std::string> DenialOf(const std::string& execution_id,
                                       const NetworkTarget& target) override {
    const std::shared_ptr<EgressGate> decides = gate();
    if (decides == nullptr) return std::string();
    return decides->DenialOf(execution_id, target);
  }

  void Ask(const std::string& execution_id, const NetworkTarget& target,
           std::function<void(EgressDecision)> answer) override {
    const std::shared_ptr<EgressGate> decides = gate();
    if (decides == nullptr) return answer({EgressVerdict::kDeny, "not granted"});
    decides->Ask(execution_id, target, std::move(answer));
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<EgressGate> gate_;
};

// What the gate knows about an execution goes with the session.
template <typename Session>
class Leaving : public Session {
 public:
  Leaving(std::unique_ptr<Session> session, std::shared_ptr<EgressGate> gate,
          std::string execution_id)
      : session_(std::move(session)),
        gate_(std::move(gate)),
        execution_id_(std::move(execution_id)) {}
  ~Leaving() override {
    session_.reset();
    if (gate_ != nullptr) gate_->Leave(execution_id_);
  }

  absl::Status Revoke(const NetworkTarget& target) override { return session_->Revoke(target); }
  std::vector<Denial> Denials() const override { return session_->Denials(); }
  std::vector<NetworkTarget> Used() const override { return session_->Used(); }
  std::vector<NetworkTarget> Approved() const override { return session_->Approved(); }
  std::vector<NetworkTarget> UsedByAddress() const override { return session_->UsedByAddress(); }

 protected:
  [[nodiscard]] Session& session() const { return *session_; }

 private:
  std::unique_ptr<Session> session_;
  const std::shared_ptr<EgressGate> gate_;
  const std::string execution_id_;
};

class LeavingSession final : public Leaving<EgressSession> {
 public:
  using Leaving::Leaving;
};

class LeavingFront final : public Leaving<EgressFront> {
 public:
  using Leaving::Leaving;
  std::uint16_t port() const override { return session().port(); }
};

class LeavingDoor final : public Leaving<EgressDoor> {
 public:
  using Leaving::Leaving;
  std::uint16_t port() const override { return session().port(); }
  int Expect(std::uint16_t source_port, const std::string& address, std::uint16_t port) override {
    return session().Expect(source_port, address, port);
  }
  void Forget(std::uint16_t source_port) override { session().Forget(source_port); }
};

class DecidedProxy final : public EgressProxy {
 public:
  DecidedProxy(std::shared_ptr<EgressProxy> proxy, std::shared_ptr<LateAuthorizer> authorizer)
      : proxy_(std::move(proxy)), authorizer_(std::move(authorizer)) {}

  bool HasAuthorizer() const override { return authorizer_ != nullptr; }

  std::string RouteFingerprint() const override { return proxy_->RouteFingerprint(); }

  absl::StatusOr<std::unique_ptr<EgressSession>> Serve(
      EgressPlan plan, std::shared_ptr<SandboxNetwork> network) override {
    const std::string execution_id = plan.execution_id;
    auto session = proxy_->Serve(std::move(plan), std::move(network));
    if (!session.ok() || authorizer_ == nullptr) return session;
    return std::make_unique<LeavingSession>(*std::move(session), authorizer_->gate(), execution_id);
  }

  absl::StatusOr<std::unique_ptr<EgressFront>> ServeFront(EgressPlan plan,
                                                          EgressFrontOptions options) override {
    const std::string execution_id = plan.execution_id;
    auto front = proxy_->ServeFront(std::move(plan), std::move(options));
    if (!front.ok() || authorizer_ == nullptr) return front;
    return std::make_unique<LeavingFront>(*std::move(front), authorizer_->gate(), execution_id);
  }

  absl::StatusOr<std::unique_ptr<EgressDoor>> ServeDoor(EgressPlan plan) override {
    const std::string execution_id = plan.execution_id;
    auto door = proxy_->ServeDoor(std::move(plan));
    if (!door.ok() || authorizer_ == nullptr) return door;
    return std::make_unique<LeavingDoor>(*std::move(door), authorizer_->gate(), execution_id);
  }

 private:
  const std::shared_ptr<EgressProxy> proxy_;
  const std::shared_ptr<LateAuthorizer> authorizer_;  // Null: nobody decides.
};

// Tells the egress gate about what the gate admits.
class EnteringAdmission final : public Admission {
 public:
  EnteringAdmission(Admission& gate, std::shared_ptr<EgressGate> egress)
      : gate_(gate), egress_(std::move(egress)) {}

  absl::StatusOr<std::unique_ptr<Admitted>> Admit(const Request& request,
                                                  std::stop_token stop) override {
    auto admitted = gate_.Admit(request, std::move(stop));
    if (!admitted.ok() || egress_ == nullptr || !request.command.has_value()) return admitted;
    const absl::Status entered = egress_->Enter(request);
    if (!entered.ok()) return entered;
    return admitted;
  }

  std::vector<absl::StatusOr<std::unique_ptr<Admitted>>> AdmitTogether(
      absl::Span<const Request> requests, std::stop_token stop) override {
    auto admitted = gate_.AdmitTogether(requests, std::move(stop));
    if (egress_ == nullptr || admitted.size() != requests.size()) return admitted;
    for (std::size_t i = 0; i < admitted.size(); ++i) {
      if (!admitted[i].ok() || !requests[i].command.has_value()) continue;
      if (absl::Status entered = egress_->Enter(requests[i]); !entered.ok()) {
        admitted[i] = std::move(entered);
      }
    }
    return admitted;
  }

 private:
  Admission& gate_;
  const std::shared_ptr<EgressGate> egress_;  // Null: nobody decides.
};

class OpenSessionEgress final : public SessionEgress {
 public:
  OpenSessionEgress(std::shared_ptr<EgressProxy> proxy, std::shared_ptr<LateAuthorizer> authorizer)
      : authorizer_(std::move(authorizer)),
        proxy_(std::make_shared<DecidedProxy>(std::move(proxy), authorizer_)) {}

  std::shared_ptr<EgressProxy> proxy() override { return proxy_; }

  std::unique_ptr<Admission> DecideWith(Admission& gate,
                                        std::shared_ptr<EgressGate> egress) override {
    if (authorizer_ == nullptr) return std::make_unique<EnteringAdmission>(gate, nullptr);
    authorizer_->Set(egress);
    return std::make_unique<EnteringAdmission>(gate, std::move(egress));
  }

 private:
  const std::shared_ptr<LateAuthorizer> authorizer_;
  const std::shared_ptr<DecidedProxy> proxy_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SessionEgress>> SessionEgress::Create(
    const std::vector<std::string>& resolve, NetworkRoute route, std::shared_ptr<LogSink> log,
    bool decides) {
  EgressProxyOptions options;
  if (route == NetworkRoute::kEnvironment) {
    auto from_environment = EgressRouteOfEnvironment(Variable);
    if (!from_environment.ok()) return from_environment.status();
    options.route = *std::move(from_environment);
  }
  for (const std::string& text : resolve) {
    auto entry = ParseEgressOverride(text);
    if (!entry.ok()) return Annotate(entry.status(), "--resolve");
    options.overrides.push_back(*std::move(entry));
  }
  std::shared_ptr<LateAuthorizer> authorizer;
  if (decides) authorizer = std::make_shared<LateAuthorizer>();
  options.authorizer = authorizer;
  options.log = std::move(log);
  auto proxy = NewEgressProxy(std::move(options));
  if (!proxy.ok()) return proxy.status();
  return std::make_unique<OpenSessionEgress>(*std::move(proxy), std::move(authorizer));
}

}  // namespace cordon::cli
