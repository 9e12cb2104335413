#include "remembering.h"

#include <pwd.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "command_match.h"
#include "cordon/sdk/path_policy.h"

namespace cordon::internal {
namespace {

std::string UserName() {
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) {
    return found->pw_name;
  }
  return "uid " + std::to_string(geteuid());
}

absl::StatusOr<Rule> PathRule(const Requirement& requirement, std::string_view access) {
  const absl::StatusOr<Scope> scope = ParseScope(requirement.scope);
  if (!scope.ok()) return scope.status();
  if (scope->form == Scope::Form::kHost) return absl::InvalidArgumentError("too wide to remember");
  const bool tree = scope->form == Scope::Form::kTree;
  return MakeRule(RuleEffect::kAllow, tree ? RuleMatch::kTree : RuleMatch::kPath,
                  std::string(access) + scope->path);
}

absl::StatusOr<Rule> RuleFor(const Requirement& requirement, const Request& request) {
  switch (requirement.kind) {
    case CapabilityKind::kCommandExecute:
      if (!request.command.has_value() || !HasKnownShell(*request.command)) break;
      return MakeRule(RuleEffect::kAllow, RuleMatch::kExactCommand, requirement.match);
    case CapabilityKind::kNetwork:
      return MakeRule(RuleEffect::kAllow, RuleMatch::kNetworkTarget, requirement.match);
    case CapabilityKind::kFilesystemRead:
      return PathRule(requirement, "read:");
    case CapabilityKind::kFilesystemWrite:
      return PathRule(requirement, "write:");
  }
  return absl::InvalidArgumentError("cannot be remembered");
}

std::string DirectoryFor(const Rule& rule, const Request& request,
                         const std::string& workspace_root) {
  if (!request.command.has_value()) return "";
  const std::string& directory = request.command->working_directory;
  const bool exact = rule.match == RuleMatch::kExactCommand;
  return exact || !IsWithin(directory, workspace_root) ? directory : workspace_root;
}

}  // namespace

std::vector<Rule> RulesToRemember(const std::vector<Requirement>& pending, const Request& request,
                                  const std::string& workspace_root,
                                  const std::vector<RuleProgram>& programs) {
  std::vector<Rule> rules;
  for (const Requirement& requirement : pending) {
    absl::StatusOr<Rule> rule = RuleFor(requirement, request);
    if (!rule.ok()) return {};
    rule->directory = DirectoryFor(*rule, request, workspace_root);
    if (rule->match == RuleMatch::kExactCommand) rule->programs = programs;
    rule->who = UserName();
    rule->why = "approved at a prompt of the tool " + EscapeForDisplay(request.tool);
    rules.push_back(*std::move(rule));
  }
  return rules;
}

}  // namespace cordon::internal
