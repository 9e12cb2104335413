#include "decision.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/address_class.h"

namespace cordon::internal::egress {
DecisionTable::DecisionTable(std::string execution_id, std::vector<NetworkTarget> targets,
                             bool gated, std::shared_ptr<EgressAuthorizer> authorizer,
                             const std::vector<EgressOverride>* overrides,
                             const RouteResolver* routes)
    : execution_id_(std::move(execution_id)),
      targets_(std::move(targets)),
      gated_(gated),
      authorizer_(std::move(authorizer)),
      overrides_(overrides),
      routes_(routes) {}

std::optional<NetworkTarget> DecisionTable::CoveringTarget(const NetworkTarget& target) const {
  for (const NetworkTarget& granted : targets_) {
    if (Grants(granted, target)) return granted;
  }
  return std::nullopt;
}

std::string DecisionTable::DenialOf(const NetworkTarget& target) const {
  for (const auto& [denied, reason] : denied_) {
    if (Covers(denied, target)) return reason;
  }
  if (authorizer_ == nullptr) return "";
  absl::StatusOr<std::string> denial = authorizer_->DenialOf(execution_id_, target);
  if (!denial.ok()) return absl::StrCat("nobody could decide: ", denial.status().message());
  return *std::move(denial);
}

EgressDecision DecisionTable::Decide(const NetworkTarget& target) const {
  if (std::string denial = DenialOf(target); !denial.empty()) {
    return {EgressVerdict::kDeny, std::move(denial)};
  }
  if (const auto granted = CoveringTarget(target); granted.has_value()) {
    return {EgressVerdict::kAllow, absl::StrCat("granted: ", NetworkTargetText(*granted))};
  }
  if (const auto known = remembered_.find(target); known != remembered_.end()) {
    return known->second;
  }
  if (!asks()) return {EgressVerdict::kDeny, "not granted"};
  absl::StatusOr<EgressDecision> decision = authorizer_->Decide(execution_id_, target);
  if (!decision.ok()) {
    return {EgressVerdict::kDeny,
            absl::StrCat("nobody could decide: ", decision.status().message())};
  }
  return *std::move(decision);
}

void DecisionTable::Withdraw(const NetworkTarget& target, std::string reason) {
  denied_.emplace_back(target, std::move(reason));
}

void DecisionTable::Remember(const NetworkTarget& target, const EgressDecision& decision) {
  remembered_.insert_or_assign(target, decision);
}

bool DecisionTable::NameIsGranted(const std::string& name) const {
  return std::any_of(targets_.begin(), targets_.end(), [&name](const NetworkTarget& granted) {
    return Covers(granted, NetworkTarget{.host = name, .port = granted.port, .is_address = false});
  });
}

std::optional<Endpoint> DecisionTable::Override(const NetworkTarget& target) const {
  for (const EgressOverride& entry : *overrides_) {
    if (entry.target != target) continue;
    const std::optional<IpAddress> ip = IpAddress::Parse(entry.address);
    if (ip.has_value()) return Endpoint{*ip, entry.port};
  }
  return std::nullopt;
}

const EgressRoute* DecisionTable::ProxyFor(const NetworkTarget& target) const {
  return routes_->ProxyFor(target);
}

std::string DecisionTable::AddressProblem(const Endpoint& endpoint) const {
  const NetworkTarget target{.host = endpoint.ip.Text(), .port = endpoint.port, .is_address = true};
  if (const std::string denial = DenialOf(target); !denial.empty()) {
    return absl::StrFormat("it resolves to %s: %s", endpoint.ip.Text(), denial);
  }
  const AddressClass address_class = ClassifyAddress(endpoint.ip);
  if (address_class == AddressClass::kPublic || CoveringTarget(target).has_value()) return "";
  return absl::StrFormat("it resolves to %s, %s", endpoint.ip.Text(),
                         AddressClassText(address_class));
}

std::string AllowWith(const NetworkTarget& target) {
  NetworkTarget shown = target;
  if (shown.port == 0) shown.port = 443;
  return absl::StrCat("--net ", NetworkTargetText(shown));
}

}  // namespace cordon::internal::egress
