// The one answer to "may this execution reach that target, and at that address?", whatever way the
// question came in.

#ifndef CORDON_NET_PROXY_SRC_DECISION_H_
#define CORDON_NET_PROXY_SRC_DECISION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cordon/net-proxy/proxy.h"
#include "cordon/sdk/egress.h"
#include "endpoint.h"

namespace cordon::internal::egress {

// What one execution may reach. Belongs to one thread.
class DecisionTable {
 public:
  // `authorizer` may be null. Overrides and routes are borrowed.
  DecisionTable(std::string execution_id, std::vector<NetworkTarget> targets, bool gated,
                std::shared_ptr<EgressAuthorizer> authorizer,
                const std::vector<EgressOverride>* overrides, const RouteResolver* routes);

  // For one host and port. What is denied wins; then a target of the plan allows, a remembered
  // answer decides, then the authorizer. An address that is not public needs a target that names
  // it: as an address, or as a range within the prefix that makes it special.
  [[nodiscard]] EgressDecision Decide(const NetworkTarget& target) const;
  // The answer to a kAsk, for the rest of the execution.
  void Remember(const NetworkTarget& target, const EgressDecision& decision);

  // Nothing that `target` covers is allowed any more; `reason` is for the report.
  void Withdraw(const NetworkTarget& target, std::string reason);

  // Whether some port of `name` is granted, so that it resolves.
  [[nodiscard]] bool NameIsGranted(const std::string& name) const;
  // Whether connections to names that nobody decided about are worth holding.
  [[nodiscard]] bool asks() const { return gated_ && authorizer_ != nullptr; }

  // Where tests want an allowed target to be reached.
  [[nodiscard]] std::optional<Endpoint> Override(const NetworkTarget& target) const;
  // The proxy that an allowed target without an override is reached through; null: direct.
  [[nodiscard]] const EgressRoute* ProxyFor(const NetworkTarget& target) const;
  // Whether a name that was allowed may lead to `endpoint`: empty when it may, else why not.
  [[nodiscard]] std::string AddressProblem(const Endpoint& endpoint) const;

  // The target of the plan that allows `target`; nothing when another rule did.
  [[nodiscard]] std::optional<NetworkTarget> CoveringTarget(const NetworkTarget& target) const;

  [[nodiscard]] const std::string& execution_id() const { return execution_id_; }
  [[nodiscard]] const std::vector<NetworkTarget>& targets() const { return targets_; }

 private:
  // Why `target` is denied whatever was granted; empty when it is not.
  [[nodiscard]] std::string DenialOf(const NetworkTarget& target) const;

  std::string execution_id_;
  std::vector<NetworkTarget> targets_;
  bool gated_;
  std::shared_ptr<EgressAuthorizer> authorizer_;
  const std::vector<EgressOverride>* overrides_;
  const RouteResolver* routes_;
  std::map<NetworkTarget, EgressDecision> remembered_;
  std::vector<std::pair<NetworkTarget, std::string>> denied_;  // With the reason.
};

// How a refused target is allowed: "--net HOST:PORT", the port 443 when it is not known.
[[nodiscard]] std::string AllowWith(const NetworkTarget& target);

}  // namespace cordon::internal::egress

#endif  // CORDON_NET_PROXY_SRC_DECISION_H_
