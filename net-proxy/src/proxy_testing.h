// For tests: plans, overrides and a proxy on a throw-away network.

#ifndef CORDON_NET_PROXY_SRC_PROXY_TESTING_H_
#define CORDON_NET_PROXY_SRC_PROXY_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/net-proxy/proxy.h"
#include "network_testing.h"

namespace cordon::internal::egress {

inline NetworkTarget Target(std::string_view text) { return ParseNetworkTarget(text).value(); }

inline EgressOverride To(const std::string& target, std::uint16_t port) {
  return ParseEgressOverride(target + "=127.0.0.1:" + std::to_string(port)).value();
}

inline EgressPlan Plan(const std::vector<std::string>& targets) {
  EgressPlan plan;
  plan.execution_id = "execution";
  for (const std::string& target : targets) plan.targets.push_back(Target(target));
  return plan;
}

inline bool HasDenial(const EgressSession& session, const std::string& target,
                      const std::string& allow_with) {
  const std::vector<Denial> denials = session.Denials();
  return std::any_of(denials.begin(), denials.end(), [&](const Denial& denial) {
    return denial.kind == "network" && denial.target == target && denial.count >= 1 &&
           !denial.reason.empty() && denial.allow_with.find(allow_with) != std::string::npos;
  });
}

// One session with its own network, where `targets` are granted.
struct Served {
  std::shared_ptr<TestNetwork> network = TestNetwork::Create();
  std::unique_ptr<EgressProxy> proxy;
  std::unique_ptr<EgressSession> session;

  // False when this host makes no user namespaces.
  [[nodiscard]] bool Start(EgressProxyOptions options, EgressPlan plan) {
    if (network == nullptr) return false;
    proxy = NewEgressProxy(std::move(options)).value();
    session = proxy->Serve(std::move(plan), network).value();
    return true;
  }
  [[nodiscard]] TestStream Connect(const std::string& name, std::uint16_t port) const {
    const std::string address = Resolve(*network, name);
    if (address.starts_with("code")) return {};
    return TestStream::Connect(network.get(), address, port);
  }
};

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_PROXY_TESTING_H_
