#include "cordon/sdk/profile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/address_class.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/status.h"
#include "profile_canonical.h"
#include "profile_paths.h"

namespace cordon {

struct Profile::Rep {
  ProfileConfig config;
  PathPolicy paths;
  Guarantees required;
  Digest fingerprint{};
};

namespace {

using Field = FieldHasher;

void AddAccess(Field& hasher, Access access) { hasher.Add(static_cast<std::uint64_t>(access)); }

void AddList(Field& hasher, const std::vector<std::string>& list) {
  hasher.Add(static_cast<std::uint64_t>(list.size()));
  for (const std::string& entry : list) hasher.Add(entry);
}

void AddPorts(Field& hasher, const std::vector<std::uint16_t>& ports) {
  hasher.Add(static_cast<std::uint64_t>(ports.size()));
  for (const std::uint16_t port : ports) hasher.Add(std::uint64_t{port});
}

void AddLimit(Field& hasher, std::optional<std::uint64_t> limit) {
  hasher.Add(static_cast<std::uint64_t>(limit.has_value()));
  hasher.Add(limit.value_or(0));
}

// The name, and whether a value is set or passed; never the value, which may be a secret.
void AddEnvironment(Field& hasher, const std::vector<std::string>& environment) {
  hasher.Add(static_cast<std::uint64_t>(environment.size()));
  for (const std::string& entry : environment) {
    const std::string_view name = internal::VariableName(entry);
    hasher.Add(name);
    hasher.Add(static_cast<std::uint64_t>(name.size() != entry.size()));
  }
}

Digest FingerprintOf(const ProfileConfig& config) {
  Field hasher;
  hasher.Add("cordon.profile.v1");
  hasher.Add(static_cast<std::uint64_t>(kAccessVersion));
  hasher.Add(config.workspace_root).Add(config.home_root);
  for (const Access access : {config.workspace_read, config.workspace_write, config.host_read,
                              config.host_write, config.network, config.command}) {
    AddAccess(hasher, access);
  }
  hasher.Add(static_cast<std::uint64_t>(config.home));
  hasher.Add(static_cast<std::uint64_t>(config.isolation));
  hasher.Add(static_cast<std::uint64_t>(config.ack_unconfined.given()));
  hasher.Add(static_cast<std::uint64_t>(config.ack_tracing.given()));
  hasher.Add(static_cast<std::uint64_t>(config.ack_nested_namespaces.given()));
  hasher.Add(static_cast<std::uint64_t>(config.additional_roots.size()));
  for (const AdditionalRoot& root : config.additional_roots) {
    hasher.Add(root.path);
    AddAccess(hasher, root.read);
    AddAccess(hasher, root.write);
  }
  AddList(hasher, config.deny_read);
  AddList(hasher, config.deny_write);
  hasher.Add(static_cast<std::uint64_t>(config.protect_paths));
  AddEnvironment(hasher, config.environment);
  AddList(hasher, config.network_targets);
  hasher.Add(static_cast<std::uint64_t>(config.network_route));
  AddPorts(hasher, config.loopback_ports);
  AddPorts(hasher, config.publish_ports);
  AddList(hasher, config.unix_sockets);
  AddLimit(hasher, config.limits.memory_bytes);
  AddLimit(hasher, config.limits.processes);
  AddLimit(hasher, config.limits.cpu_time.has_value()
                       ? std::optional<std::uint64_t>(config.limits.cpu_time->count())
                       : std::nullopt);
  AddLimit(hasher, config.limits.file_size_bytes);
  hasher.Add(static_cast<std::uint64_t>(config.audit));
  hasher.Add(std::uint64_t{GuaranteesToBits(config.required_guarantees)});
  return hasher.Finish();
}

bool DeniesReading(const PathPolicy& paths) {
  return std::any_of(paths.rules().begin(), paths.rules().end(),
                     [](const PathRule& rule) { return rule.read < Access::kAllow; }) ||
         std::any_of(paths.globs().begin(), paths.globs().end(), [](const GlobRule& rule) {
           return rule.effect == GlobRule::Effect::kDenyRead;
         });
}

Guarantees RequiredBy(const ProfileConfig& config, const PathPolicy& paths) {
  Guarantees derived;
  derived.env_scrub = true;
  if (config.isolation == Isolation::kSandboxed) {
    derived.process_boundary = true;
    derived.write_boundary = true;
    derived.read_boundary = DeniesReading(paths);
    derived.network_boundary = config.network != Access::kAllow;
    // An open network reaches every target anyway.
    const bool targets = derived.network_boundary && !config.network_targets.empty();
    derived.address_network = targets;
    derived.target_network = targets;
  }
  return GuaranteesFromBits(static_cast<std::uint8_t>(
      GuaranteesToBits(derived) | GuaranteesToBits(config.required_guarantees)));
}

absl::Status NoProfile() {
  return MakeError(ErrorCode::kInvalidProfile,
                   "the profile is empty: make it with Profile::Create");
}

absl::StatusOr<Access> WithoutScope(CapabilityKind kind, std::string_view scope, Access access) {
  if (scope.empty()) return access;
  return MakeError(ErrorCode::kInvalidScope,
                   absl::StrFormat("%s has no scope, not \"%s\"", CapabilityKindName(kind), scope));
}

absl::StatusOr<Access> FileAccess(const PathPolicy& paths, Axis axis, Access host,
                                  std::string_view text) {
  const absl::StatusOr<Scope> scope = ParseScope(text);
  if (!scope.ok()) return scope.status();
  switch (scope->form) {
    case Scope::Form::kNone:
      return MakeError(ErrorCode::kInvalidScope,
                       "a file capability needs a scope: /path, tree:/path or host:*");
    case Scope::Form::kPath:
      return paths.Resolve(axis, scope->path).access;
    case Scope::Form::kTree:
      return paths.ResolveTree(axis, scope->path).access;
    case Scope::Form::kHost:
      return host;
  }
  return MakeError(ErrorCode::kInternal, "a scope of unknown form");
}

}  // namespace

Profile Profile::FromCanonical(ProfileConfig canonical) {
  auto rep = std::make_shared<Rep>();
  rep->paths = internal::BuildPathPolicy(canonical);
  rep->required = RequiredBy(canonical, rep->paths);
  rep->fingerprint = FingerprintOf(canonical);
  rep->config = std::move(canonical);
  return Profile(std::move(rep));
}

absl::StatusOr<Profile> Profile::Create(const ProfileConfig& config) {
  absl::StatusOr<ProfileConfig> canonical = internal::Canonicalize(config);
  if (!canonical.ok()) return canonical.status();
  return FromCanonical(*std::move(canonical));
}

absl::StatusOr<Access> Profile::AccessFor(CapabilityKind kind, std::string_view scope) const {
  if (!valid()) return NoProfile();
  const ProfileConfig& config = rep_->config;
  switch (kind) {
    case CapabilityKind::kCommandExecute:
      return WithoutScope(kind, scope, config.command);
    case CapabilityKind::kNetwork:
      return WithoutScope(kind, scope, config.network);
    case CapabilityKind::kFilesystemRead:
      return FileAccess(rep_->paths, Axis::kRead, config.host_read, scope);
    case CapabilityKind::kFilesystemWrite:
      return FileAccess(rep_->paths, Axis::kWrite, Min(config.host_read, config.host_write), scope);
  }
  return MakeError(ErrorCode::kInvalidScope, "unknown capability kind");
}

PathDecision Profile::Explain(Axis axis, std::string_view path) const {
  return paths().Resolve(axis, path);
}

absl::StatusOr<PathDecision> Profile::ExplainNetwork(std::string_view target) const {
  if (!valid()) return NoProfile();
  const absl::StatusOr<NetworkTarget> wanted = ParseNetworkTarget(target);
  if (!wanted.ok()) return wanted.status();
  for (const std::string& text : rep_->config.network_targets) {
    const absl::StatusOr<NetworkTarget> granted = ParseNetworkTarget(text);
    if (granted.ok() && Grants(*granted, *wanted)) {
      return PathDecision{Access::kAllow, text, "network_targets"};
    }
  }
  return PathDecision{rep_->config.network, "", "network"};
}

Digest Profile::Fingerprint() const { return valid() ? rep_->fingerprint : Digest{}; }

const ProfileConfig& Profile::Settings() const {
  static const ProfileConfig nothing;
  return valid() ? rep_->config : nothing;
}

const PathPolicy& Profile::paths() const {
  static const PathPolicy nothing;
  return valid() ? rep_->paths : nothing;
}

Guarantees Profile::RequiredGuarantees() const { return valid() ? rep_->required : Guarantees{}; }

}  // namespace cordon
