#include "assessment.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "cordon/sdk/network_target.h"

namespace cordon::internal {
namespace {

struct SourcedAccess {
  Access access = Access::kDeny;
  std::string source;
};

std::string FieldSource(std::string_view field, Access access) {
  return "the profile's \"" + std::string(field) + "\" is " + std::string(AccessName(access));
}

std::string DecisionSource(const PathDecision& decision, Access access) {
  std::string source = "the profile says " + std::string(AccessName(access));
  if (!decision.origin.empty()) source += " (" + decision.origin + ")";
  return source;
}

absl::StatusOr<SourcedAccess> CommandAccess(const Profile& profile,
                                            const Requirement& requirement) {
  const absl::StatusOr<Access> access = profile.AccessFor(requirement.kind, requirement.scope);
  if (!access.ok()) return access.status();
  return SourcedAccess{*access, FieldSource("command", *access)};
}

absl::StatusOr<SourcedAccess> NetworkAccess(const Profile& profile,
                                            const Requirement& requirement) {
  const absl::StatusOr<PathDecision> decision = profile.ExplainNetwork(requirement.match);
  if (!decision.ok()) return decision.status();
  return SourcedAccess{decision->access, DecisionSource(*decision, decision->access)};
}

absl::StatusOr<SourcedAccess> FileAccess(const Profile& profile, const Requirement& requirement) {
  const absl::StatusOr<Access> access = profile.AccessFor(requirement.kind, requirement.scope);
  if (!access.ok()) return access.status();
  const absl::StatusOr<Scope> scope = ParseScope(requirement.scope);
  if (!scope.ok()) return scope.status();
  const Axis axis =
      requirement.kind == CapabilityKind::kFilesystemWrite ? Axis::kWrite : Axis::kRead;
  const bool single = scope->form == Scope::Form::kPath;
  const PathDecision decision = single ? profile.Explain(axis, requirement.match)
                                       : profile.paths().ResolveTree(axis, requirement.match);
  return SourcedAccess{*access, DecisionSource(decision, *access)};
}

absl::StatusOr<SourcedAccess> AccessOf(const Profile& profile, const Requirement& requirement) {
  switch (requirement.kind) {
    case CapabilityKind::kCommandExecute:
      return CommandAccess(profile, requirement);
    case CapabilityKind::kNetwork:
      return NetworkAccess(profile, requirement);
    case CapabilityKind::kFilesystemRead:
    case CapabilityKind::kFilesystemWrite:
      return FileAccess(profile, requirement);
  }
  return MakeError(ErrorCode::kInternal, "unknown kind of capability");
}

Standing StandingOf(Access access, RuleDecision::Verdict verdict) {
  if (access == Access::kDeny) return Standing::kDeniedByProfile;
  switch (verdict) {
    case RuleDecision::Verdict::kDeny:
      return Standing::kDeniedByRule;
    case RuleDecision::Verdict::kAsk:
      return Standing::kPending;
    case RuleDecision::Verdict::kAllow:
      return Standing::kAllowed;
    case RuleDecision::Verdict::kNone:
      return access == Access::kAllow ? Standing::kAllowed : Standing::kPending;
  }
  return Standing::kDeniedByProfile;
}

std::string NetworkText(const Requirement& requirement) {
  const absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(requirement.match);
  return target.ok() ? NetworkTargetText(*target) : requirement.display;
}

// What in the profile would allow it.
std::string ProfileHint(const Requirement& requirement) {
  switch (requirement.kind) {
    case CapabilityKind::kCommandExecute:
      return "set \"command\" to \"gated\" or \"allow\" in the profile";
    case CapabilityKind::kNetwork:
      return "allow it with --net " + NetworkText(requirement) +
             " or \"network_targets\" in the profile";
    case CapabilityKind::kFilesystemRead:
      return "allow it with --read " + EscapeForDisplay(requirement.match) +
             " or \"additional_roots\" in the profile";
    case CapabilityKind::kFilesystemWrite:
      return "allow it with --write " + EscapeForDisplay(requirement.match) +
             " or \"additional_roots\" in the profile";
  }
  return "";
}

std::string_view RuleKind(const Requirement& requirement) {
  switch (requirement.kind) {
    case CapabilityKind::kCommandExecute:
      return "exact";
    case CapabilityKind::kNetwork:
      return "network";
    case CapabilityKind::kFilesystemRead:
    case CapabilityKind::kFilesystemWrite:
      return "path";
  }
  return "";
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n- " + line;
  return text;
}

template <typename Wanted>
std::vector<std::string> Lines(const Assessment& assessment, const Wanted& wanted) {
  std::vector<std::string> lines;
  for (const AssessedRequirement& assessed : assessment) {
    if (wanted(assessed.standing)) lines.push_back(DescribeStanding(assessed));
  }
  return lines;
}

bool IsDenied(Standing standing) {
  return standing == Standing::kDeniedByProfile || standing == Standing::kDeniedByRule;
}

}  // namespace

absl::StatusOr<Assessment> Assess(const Profile& profile, RuleSet& rules, const Request& request) {
  Assessment assessment;
  const auto* requirements = std::get_if<std::vector<Requirement>>(&request.authority);
  if (requirements == nullptr) return assessment;
  for (const Requirement& requirement : *requirements) {
    absl::StatusOr<SourcedAccess> access = AccessOf(profile, requirement);
    if (!access.ok()) return access.status();
    absl::StatusOr<RuleDecision> rule = rules.Decide(requirement, request);
    if (!rule.ok()) return rule.status();
    const Standing standing = StandingOf(access->access, rule->verdict);
    assessment.push_back(
        {requirement, standing, access->access, std::move(access->source), *std::move(rule)});
  }
  return assessment;
}

bool HasDenied(const Assessment& assessment) {
  return std::any_of(assessment.begin(), assessment.end(), [](const AssessedRequirement& assessed) {
    return IsDenied(assessed.standing);
  });
}

std::vector<Requirement> Pending(const Assessment& assessment) {
  std::vector<Requirement> pending;
  for (const AssessedRequirement& assessed : assessment) {
    if (assessed.standing == Standing::kPending) pending.push_back(assessed.requirement);
  }
  return pending;
}

std::string DescribeStanding(const AssessedRequirement& assessed) {
  const Requirement& requirement = assessed.requirement;
  const std::string what =
      std::string(CapabilityKindName(requirement.kind)) + " " + requirement.display + ": ";
  switch (assessed.standing) {
    case Standing::kDeniedByProfile:
      return what + "denied, since " + assessed.source + "; " + ProfileHint(requirement);
    case Standing::kDeniedByRule:
      return what + "denied by the rule " + assessed.rule.rule + "; remove rule " +
             assessed.rule.ids.front() + " to change that";
    case Standing::kPending: {
      const bool hidden = assessed.rule.verdict == RuleDecision::Verdict::kAsk;
      const std::string why = hidden ? "it may hide what the rule " + assessed.rule.rule +
                                           " denies (" + assessed.rule.reason + ")"
                                     : assessed.source;
      return what + "needs an approval, since " + why + "; a rule \"allow " +
             std::string(RuleKind(requirement)) + "\" would allow it without asking";
    }
    case Standing::kAllowed:
      if (assessed.rule.verdict == RuleDecision::Verdict::kAllow) {
        return what + "allowed by the rule " + assessed.rule.rule;
      }
      return what + "allowed, since " + assessed.source;
  }
  return what;
}

absl::Status DeniedError(const Assessment& assessment) {
  const bool by_profile =
      std::any_of(assessment.begin(), assessment.end(), [](const AssessedRequirement& assessed) {
        return assessed.standing == Standing::kDeniedByProfile;
      });
  return MakeError(by_profile ? ErrorCode::kPolicyDenied : ErrorCode::kDeniedByRule,
                   "refused:" + Join(Lines(assessment, IsDenied)));
}

absl::Status PendingError(ErrorCode code, std::string_view message, const Assessment& assessment) {
  const auto pending = [](Standing standing) { return standing == Standing::kPending; };
  return MakeError(code, std::string(message) + ":" + Join(Lines(assessment, pending)));
}

}  // namespace cordon::internal
