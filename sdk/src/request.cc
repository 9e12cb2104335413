#include "cordon/sdk/request.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/status.h"

namespace cordon {
namespace {

// The class of a grant for `scope`; nothing where there is none.
std::optional<GrantClass> FilesystemClass(CapabilityKind kind, Scope::Form form) {
  const bool is_write = kind == CapabilityKind::kFilesystemWrite;
  switch (form) {
    case Scope::Form::kNone:
      return std::nullopt;
    case Scope::Form::kPath:
      return is_write ? GrantClass::kFilesystemPathWrite : GrantClass::kFilesystemPathRead;
    case Scope::Form::kTree:
      return is_write ? GrantClass::kFilesystemTreeWrite : GrantClass::kFilesystemTreeRead;
    case Scope::Form::kHost:
      return is_write ? GrantClass::kFilesystemHostWrite : GrantClass::kFilesystemHostRead;
  }
  return std::nullopt;
}

Requirement FilesystemRequirement(CapabilityKind kind, const Scope& scope, GrantClass grant_class,
                                  std::optional<PathIdentity> identity) {
  const std::string path = scope.form == Scope::Form::kHost ? "/" : scope.path;
  const std::string scope_text = ScopeText(scope);
  return {kind, scope_text, path, EscapeForDisplay(scope_text),
          GrantSubject{grant_class, path, std::move(identity)}};
}

// The whole host has one spelling, `host:*`.
bool IsWholeHost(PathShape shape, std::string_view path) {
  return shape == PathShape::kTree && path == "/";
}

absl::Status Invalid(std::string_view message) {
  return MakeError(ErrorCode::kInvalidRequest, message);
}

// `requirement` against what the same fact must look like.
absl::Status Compare(const Requirement& requirement, const Requirement& expected) {
  const auto disagree = [](std::string_view field) {
    return Invalid(absl::StrFormat("its %s does not agree with the rest", field));
  };
  if (requirement.kind != expected.kind) return disagree("kind");
  if (requirement.scope != expected.scope) return disagree("scope");
  if (requirement.match != expected.match) return disagree("match");
  if (requirement.display != expected.display) return disagree("display");
  if (requirement.subject != expected.subject) return disagree("grant subject");
  return absl::OkStatus();
}

absl::Status ValidateCommandRequirement(const Requirement& requirement, const Request& request) {
  if (!request.command) return Invalid("the request has no command");
  return Compare(requirement, RequireCommand(*request.command));
}

absl::Status ValidateNetworkRequirement(const Requirement& requirement) {
  const absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(requirement.match);
  if (!target.ok()) return Invalid(std::string(target.status().message()));
  return Compare(requirement, RequireNetwork(*target));
}

absl::Status ValidateFilesystemRequirement(const Requirement& requirement) {
  const absl::StatusOr<Scope> scope = ParseScope(requirement.scope);
  if (!scope.ok()) return Invalid(std::string(scope.status().message()));
  const std::optional<GrantClass> grant_class = FilesystemClass(requirement.kind, scope->form);
  if (!grant_class) return Invalid("its scope names no path");
  if (scope->form == Scope::Form::kTree && IsWholeHost(PathShape::kTree, scope->path)) {
    return Invalid("its scope must be host:* for the whole host");
  }
  return Compare(requirement, FilesystemRequirement(requirement.kind, *scope, *grant_class,
                                                    requirement.subject.identity));
}

absl::Status ValidateRequirement(const Requirement& requirement, const Request& request) {
  absl::Status status = Invalid("its kind is unknown");
  switch (requirement.kind) {
    case CapabilityKind::kCommandExecute:
      status = ValidateCommandRequirement(requirement, request);
      break;
    case CapabilityKind::kNetwork:
      status = ValidateNetworkRequirement(requirement);
      break;
    case CapabilityKind::kFilesystemRead:
    case CapabilityKind::kFilesystemWrite:
      status = ValidateFilesystemRequirement(requirement);
      break;
  }
  if (!status.ok()) return status;
  const absl::Status subject = ValidateGrantSubject(requirement.subject);
  return subject.ok() ? subject : Invalid(std::string(subject.message()));
}

// The same need, whatever identity its object had when it was looked at.
bool IsSameNeed(const Requirement& a, const Requirement& b) {
  return a.kind == b.kind && a.scope == b.scope && a.match == b.match;
}

absl::Status ValidateRequirements(const std::vector<Requirement>& requirements,
                                  const Request& request) {
  if (requirements.empty()) {
    return Invalid("the list of requirements is empty; say NoAuthority when nothing is needed");
  }
  bool names_command = false;
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    const Requirement& requirement = requirements[i];
    const std::string name =
        absl::StrFormat("requirement %d (%s %s)", i + 1, CapabilityKindName(requirement.kind),
                        EscapeForDisplay(requirement.match));
    const absl::Status status = ValidateRequirement(requirement, request);
    if (!status.ok()) return Annotate(status, name);
    const auto here = requirements.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(requirements.begin(), here,
                    [&](const Requirement& earlier) { return IsSameNeed(earlier, requirement); })) {
      return Annotate(Invalid("it is there twice"), name);
    }
    names_command |= requirement.kind == CapabilityKind::kCommandExecute;
  }
  if (request.command && !names_command) {
    return Invalid("the request has a command that no requirement names");
  }
  return absl::OkStatus();
}

absl::Status ValidateNoAuthority(const NoAuthority& none, const Request& request) {
  if (none.reason.empty()) return Invalid("no reason is given why no authority is needed");
  if (request.command) return Invalid("a command always needs authority");
  if (request.binding) return Invalid("grants are to be bound although no authority is needed");
  return absl::OkStatus();
}

absl::Status ValidateBinding(const GrantBinding& binding, const Request& request) {
  if (binding.executor_id.empty()) return Invalid("the binding names no executor");
  if (binding.execution_id != request.execution_id) {
    return Invalid("the binding is for another execution");
  }
  if (!request.command) return absl::OkStatus();
  if (binding.command_digest != CommandDigest(*request.command)) {
    return Invalid("the binding is for another command");
  }
  if (binding.working_directory != request.command->working_directory) {
    return Invalid("the binding is for another working directory");
  }
  return absl::OkStatus();
}

absl::Status ValidateNames(const Request& request) {
  if (request.tool.empty()) return Invalid("the request names no tool");
  if (request.call_id.empty()) return Invalid("the request has no call id");
  if (request.execution_id.empty()) return Invalid("the request has no execution id");
  return absl::OkStatus();
}

void AddCommand(FieldHasher& hasher, const std::optional<Command>& command) {
  hasher.Add(std::uint64_t{command.has_value()});
  if (!command) return;
  const Digest digest = CommandDigest(*command);
  hasher.Add(DigestHex(digest)).Add(command->working_directory);
}

void AddIdentity(FieldHasher& hasher, const std::optional<PathIdentity>& identity) {
  hasher.Add(std::uint64_t{identity.has_value()});
  if (!identity) return;
  hasher.Add(identity->device).Add(identity->inode).Add(std::uint64_t{identity->type});
  hasher.Add(static_cast<std::uint64_t>(identity->birth_ns)).Add(identity->missing_suffix);
}

void AddRequirement(FieldHasher& hasher, const Requirement& requirement) {
  hasher.Add(CapabilityKindName(requirement.kind)).Add(requirement.scope);
  hasher.Add(requirement.match).Add(requirement.display);
  hasher.Add(GrantClassName(requirement.subject.grant_class)).Add(requirement.subject.target);
  AddIdentity(hasher, requirement.subject.identity);
}

void AddAuthority(FieldHasher& hasher, const Request& request) {
  hasher.Add(std::uint64_t{request.authority.index()});
  if (const auto* none = std::get_if<NoAuthority>(&request.authority)) {
    hasher.Add(none->reason);
    return;
  }
  const auto& requirements = std::get<std::vector<Requirement>>(request.authority);
  hasher.Add(std::uint64_t{requirements.size()});
  for (const Requirement& requirement : requirements) AddRequirement(hasher, requirement);
}

void AddBinding(FieldHasher& hasher, const std::optional<GrantBinding>& binding) {
  hasher.Add(std::uint64_t{binding.has_value()});
  if (!binding) return;
  hasher.Add(binding->executor_id).Add(binding->execution_id);
  hasher.Add(DigestHex(binding->command_digest)).Add(binding->working_directory);
  hasher.Add(DigestHex(binding->profile_fingerprint)).Add(binding->route_fingerprint);
  hasher.Add(std::uint64_t{binding->guarantees});
}

}  // namespace

Requirement RequireCommand(const Command& command) {
  return {CapabilityKind::kCommandExecute, "", CommandMatch(command), CommandDisplay(command),
          GrantSubject{GrantClass::kCommandStart, "", std::nullopt}};
}

Requirement RequireNetwork(const NetworkTarget& target) {
  const GrantClass grant_class =
      target.host == "*" ? GrantClass::kNetworkBroad : GrantClass::kNetworkTarget;
  const std::string text = "tcp:" + NetworkTargetText(target);
  return {CapabilityKind::kNetwork, "", text, EscapeForDisplay(text),
          GrantSubject{grant_class, text, std::nullopt}};
}

absl::StatusOr<Requirement> RequirePath(CapabilityKind kind, PathShape shape,
                                        std::string_view path) {
  if (kind != CapabilityKind::kFilesystemRead && kind != CapabilityKind::kFilesystemWrite) {
    return MakeError(ErrorCode::kInvalidScope,
                     absl::StrFormat("the capability %s has no paths", CapabilityKindName(kind)));
  }
  absl::StatusOr<AcquiredPath> acquired = AcquirePath(path);
  if (!acquired.ok()) return acquired.status();
  const bool is_host = IsWholeHost(shape, path);
  Scope scope{Scope::Form::kHost, ""};
  if (!is_host) {
    const bool is_tree = shape == PathShape::kTree;
    scope = {is_tree ? Scope::Form::kTree : Scope::Form::kPath, std::string(path)};
  }
  std::optional<PathIdentity> identity;
  if (!is_host) identity = std::move(acquired->identity);
  return FilesystemRequirement(kind, scope, *FilesystemClass(kind, scope.form),
                               std::move(identity));
}

absl::Status ValidateRequest(const Request& request) {
  absl::Status status = ValidateNames(request);
  if (!status.ok()) return status;
  if (request.command) {
    status = ValidateCommand(*request.command);
    if (!status.ok()) return Invalid(std::string(status.message()));
  }
  const auto* none = std::get_if<NoAuthority>(&request.authority);
  status = none != nullptr ? ValidateNoAuthority(*none, request)
                           : ValidateRequirements(
                                 std::get<std::vector<Requirement>>(request.authority), request);
  if (!status.ok()) return status;
  return request.binding ? ValidateBinding(*request.binding, request) : absl::OkStatus();
}

Digest RequestDigest(const Request& request) {
  FieldHasher hasher;
  hasher.Add("cordon.request.v1");
  hasher.Add(request.tool).Add(request.call_id).Add(request.execution_id);
  AddCommand(hasher, request.command);
  hasher.Add(request.model_description).Add(std::uint64_t{request.details.size()});
  for (const auto& [name, value] : request.details) hasher.Add(name).Add(value);
  AddAuthority(hasher, request);
  AddBinding(hasher, request.binding);
  return hasher.Finish();
}

}  // namespace cordon
