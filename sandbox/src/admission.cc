#include "admission.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/capability.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

// A grant for files, in the terms of the path policy.
struct FileSubject {
  CapabilityKind kind = CapabilityKind::kFilesystemRead;
  Axis axis = Axis::kRead;
  Scope::Form form = Scope::Form::kPath;
};

std::optional<FileSubject> AsFileSubject(GrantClass grant_class) {
  constexpr auto kRead = CapabilityKind::kFilesystemRead;
  constexpr auto kWrite = CapabilityKind::kFilesystemWrite;
  switch (grant_class) {
    case GrantClass::kFilesystemPathRead:
      return FileSubject{kRead, Axis::kRead, Scope::Form::kPath};
    case GrantClass::kFilesystemPathWrite:
      return FileSubject{kWrite, Axis::kWrite, Scope::Form::kPath};
    case GrantClass::kFilesystemTreeRead:
      return FileSubject{kRead, Axis::kRead, Scope::Form::kTree};
    case GrantClass::kFilesystemTreeWrite:
      return FileSubject{kWrite, Axis::kWrite, Scope::Form::kTree};
    case GrantClass::kFilesystemHostRead:
      return FileSubject{kRead, Axis::kRead, Scope::Form::kHost};
    case GrantClass::kFilesystemHostWrite:
      return FileSubject{kWrite, Axis::kWrite, Scope::Form::kHost};
    case GrantClass::kCommandStart:
    case GrantClass::kNetworkTarget:
    case GrantClass::kNetworkBroad:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string SubjectText(const GrantSubject& subject) {
  const std::string_view name = GrantClassName(subject.grant_class);
  if (subject.target.empty()) return std::string(name);
  return absl::StrFormat("%s %s", name, subject.target);
}

absl::Status Superfluous(const GrantSubject& subject) {
  return MakeError(ErrorCode::kGrantWrongTarget,
                   absl::StrFormat("a grant for %s was presented, which this command does not need",
                                   SubjectText(subject)));
}

absl::Status CheckCommandAccess(Access access, bool has_authority, bool has_grants) {
  if (access == Access::kDeny) {
    return MakeError(ErrorCode::kPolicyDenied, "the profile denies commands");
  }
  if (access == Access::kGated && !has_authority) {
    return MakeError(ErrorCode::kGrantRequired,
                     "the profile gates commands, and this executor set was made without "
                     "make_authority, so that none can be granted");
  }
  if (access == Access::kGated && !has_grants) {
    return MakeError(ErrorCode::kGrantRequired,
                     "the profile gates commands; present a grant for this one");
  }
  if (has_grants && !has_authority) {
    return MakeError(ErrorCode::kGrantWrongExecutor,
                     "grants were presented to an executor that cannot have issued them");
  }
  return absl::OkStatus();
}

// Exactly one grant to start a gated command, none for one that is allowed.
absl::Status CheckStartGrants(Access command, const std::vector<GrantSubject>& subjects) {
  bool found = false;
  for (const GrantSubject& subject : subjects) {
    if (subject.grant_class != GrantClass::kCommandStart) continue;
    if (found || command != Access::kGated) return Superfluous(subject);
    found = true;
  }
  if (found || command != Access::kGated) return absl::OkStatus();
  return MakeError(ErrorCode::kGrantRequired,
                   "none of the grants is one to start this command (command.start.v1)");
}

absl::Status CheckFileGrant(const Profile& profile, const GrantSubject& subject,
                            const FileSubject& file) {
  const bool host = file.form == Scope::Form::kHost;
  const Scope scope{file.form, host ? "" : subject.target};
  const absl::StatusOr<Access> access = profile.AccessFor(file.kind, ScopeText(scope));
  if (!access.ok()) return access.status();
  switch (*access) {
    case Access::kDeny:
      return MakeError(ErrorCode::kPolicyDenied,
                       absl::StrFormat("the profile denies %s", SubjectText(subject)));
    case Access::kGated:
      return absl::OkStatus();
    case Access::kAllow:
      return Superfluous(subject);
  }
  return Superfluous(subject);
}

absl::Status CheckNetworkGrant(const Profile& profile, const GrantSubject& subject,
                               bool is_served) {
  const absl::StatusOr<PathDecision> decision = profile.ExplainNetwork(subject.target);
  if (!decision.ok()) return decision.status();
  switch (decision->access) {
    case Access::kDeny:
      return MakeError(ErrorCode::kPolicyDenied,
                       absl::StrFormat("the profile denies %s", SubjectText(subject)));
    case Access::kGated:
      break;
    case Access::kAllow:
      return Superfluous(subject);
  }
  if (is_served) return absl::OkStatus();
  return MakeError(ErrorCode::kUnavailable,
                   absl::StrFormat("%s cannot be granted: this executor set was made without an "
                                   "egress proxy",
                                   SubjectText(subject)));
}

absl::Status CheckSubjects(const Profile& profile, Access command,
                           const std::vector<GrantSubject>& subjects, bool is_served) {
  absl::Status status = CheckStartGrants(command, subjects);
  for (const GrantSubject& subject : subjects) {
    if (!status.ok()) return status;
    if (subject.grant_class == GrantClass::kCommandStart) continue;
    const std::optional<FileSubject> file = AsFileSubject(subject.grant_class);
    status = file.has_value() ? CheckFileGrant(profile, subject, *file)
                              : CheckNetworkGrant(profile, subject, is_served);
  }
  return status;
}

absl::Status TargetChanged(const GrantSubject& subject) {
  return MakeError(ErrorCode::kTargetChanged,
                   absl::StrFormat("%s is no longer what was approved; ask again",
                                   EscapeForDisplay(subject.target)));
}

absl::StatusOr<GrantedTarget> AcquireTarget(const GrantSubject& subject) {
  absl::StatusOr<AcquiredPath> object = AcquirePath(subject.target);
  // The approved path had no link in it.
  if (Is(object.status(), ErrorCode::kPathEscape)) return TargetChanged(subject);
  if (!object.ok()) return object.status();
  if (object->identity != subject.identity) return TargetChanged(subject);
  if (!object->identity.missing_suffix.empty()) {
    return MakeError(ErrorCode::kNotFound,
                     absl::StrFormat("%s does not exist, so that it cannot be shown to a command; "
                                     "ask for the folder that will hold it",
                                     EscapeForDisplay(subject.target)));
  }
  return GrantedTarget{subject.target, *std::move(object)};
}

PathRule RuleFor(const GrantSubject& subject, const FileSubject& file) {
  PathRule rule;
  rule.path = subject.target;
  rule.shape = file.form == Scope::Form::kPath ? PathShape::kExact : PathShape::kTree;
  rule.origin = "grant";
  switch (file.kind) {
    case CapabilityKind::kFilesystemRead:
      // As in a profile: what may be read may be executed.
      rule.read = rule.execute = Access::kAllow;
      return rule;
    case CapabilityKind::kFilesystemWrite:
      rule.write = Access::kAllow;
      return rule;
    case CapabilityKind::kCommandExecute:
    case CapabilityKind::kNetwork:
      return rule;
  }
  return rule;
}

absl::Status CheckEffective(const PathPolicy& paths, const std::vector<GrantSubject>& subjects) {
  for (const GrantSubject& subject : subjects) {
    const std::optional<FileSubject> file = AsFileSubject(subject.grant_class);
    if (!file.has_value()) continue;
    const PathDecision decision = paths.Resolve(file->axis, subject.target);
    if (decision.access == Access::kAllow) continue;
    return MakeError(ErrorCode::kPolicyDenied,
                     absl::StrFormat("the grant for %s has no effect, since reading it is not "
                                     "allowed (%s)",
                                     SubjectText(subject), decision.origin));
  }
  return absl::OkStatus();
}

absl::Status ApplyFileGrants(const std::vector<GrantSubject>& subjects, CommandAdmission& into) {
  std::vector<PathRule> granted;
  for (const GrantSubject& subject : subjects) {
    const std::optional<FileSubject> file = AsFileSubject(subject.grant_class);
    if (!file.has_value()) continue;
    if (file->form != Scope::Form::kHost) {
      absl::StatusOr<GrantedTarget> target = AcquireTarget(subject);
      if (!target.ok()) return target.status();
      into.targets.push_back(*std::move(target));
    }
    granted.push_back(RuleFor(subject, *file));
  }
  into.has_file_grants = !granted.empty();
  into.paths = into.paths.With(std::move(granted));
  return CheckEffective(into.paths, subjects);
}

absl::Status ApplyNetworkGrants(const std::vector<GrantSubject>& subjects, CommandAdmission& into) {
  for (const GrantSubject& subject : subjects) {
    if (subject.grant_class != GrantClass::kNetworkTarget &&
        subject.grant_class != GrantClass::kNetworkBroad) {
      continue;
    }
    absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(subject.target);
    if (!target.ok()) return target.status();
    into.network_targets.push_back(*std::move(target));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandAdmission> AdmitCommand(const Profile& profile, GrantAuthority* authority,
                                              absl::Span<const Grant> grants,
                                              const GrantBinding& binding, bool is_served) {
  const absl::StatusOr<Access> command = profile.AccessFor(CapabilityKind::kCommandExecute, "");
  if (!command.ok()) return command.status();
  absl::Status status = CheckCommandAccess(*command, authority != nullptr, !grants.empty());
  if (!status.ok()) return status;

  CommandAdmission admission;
  admission.paths = profile.paths();
  if (grants.empty()) return admission;
  absl::StatusOr<std::unique_ptr<Redemption>> redemption = authority->Verify(grants, binding);
  if (!redemption.ok()) return redemption.status();
  admission.redemption = *std::move(redemption);

  const std::vector<GrantSubject>& subjects = admission.redemption->subjects();
  status = CheckSubjects(profile, *command, subjects, is_served);
  if (status.ok()) status = ApplyFileGrants(subjects, admission);
  if (status.ok()) status = ApplyNetworkGrants(subjects, admission);
  if (!status.ok()) return status;
  for (const GrantSubject& subject : subjects) {
    admission.grants.push_back({subject.grant_class, subject.target});
  }
  return admission;
}

}  // namespace cordon::internal
