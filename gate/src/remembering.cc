#include "remembering.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "command_match.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_policy.h"
#include "families.h"

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

// The narrowest rules; none when one of the requirements cannot be remembered.
std::vector<Rule> NarrowRules(const std::vector<Requirement>& pending, const Request& request,
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

std::vector<Rule> UntilLater(std::vector<Rule> rules, std::chrono::hours hours) {
  for (Rule& rule : rules) rule.until = std::chrono::system_clock::now() + hours;
  return rules;
}

// Rules for every permitted use of the families that `command` consists of, in the workspace.
std::vector<Rule> FamilyRules(const Rule& exact, const Command& command,
                              const std::string& workspace_root) {
  std::vector<std::string> names;
  for (const Family& family : FamilyCatalogue()) names.emplace_back(family.name);
  const std::optional<std::vector<std::size_t>> covering =
      CoverWithFamilies(ReadCommand(command), names);
  if (!covering.has_value()) return {};
  std::vector<Rule> rules;
  for (const std::size_t index : *covering) {
    const auto known = std::find_if(rules.begin(), rules.end(),
                                    [&](const Rule& rule) { return rule.text == names[index]; });
    if (known != rules.end()) continue;
    Rule rule = exact;
    rule.match = RuleMatch::kCommandFamily;
    rule.text = names[index];
    if (IsWithin(command.working_directory, workspace_root)) rule.directory = workspace_root;
    rules.push_back(std::move(rule));
  }
  return rules;
}

// `*.b.example:443` for `a.b.example:443`; nothing where that would be a whole top-level domain.
std::optional<Rule> WiderTarget(const Rule& rule) {
  absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(rule.text);
  if (!target.ok() || target->is_address || target->host.starts_with("*")) return std::nullopt;
  const std::size_t dot = target->host.find('.');
  if (dot == std::string::npos || target->host.find('.', dot + 1) == std::string::npos) {
    return std::nullopt;
  }
  target->host = "*" + target->host.substr(dot);
  Rule wider = rule;
  wider.text = NetworkTargetText(*target);
  return wider;
}

// The rules with the one for `kind` of rule replaced by something wider; none where nothing is.
std::vector<Rule> Widened(const std::vector<Rule>& narrow, const Request& request,
                          const std::string& workspace_root) {
  std::vector<Rule> rules;
  bool is_wider = false;
  for (const Rule& rule : narrow) {
    if (rule.match == RuleMatch::kExactCommand && request.command.has_value()) {
      std::vector<Rule> families = FamilyRules(rule, *request.command, workspace_root);
      if (!families.empty()) {
        rules.insert(rules.end(), families.begin(), families.end());
        is_wider = true;
        continue;
      }
    }
    if (rule.match == RuleMatch::kNetworkTarget) {
      if (std::optional<Rule> wider = WiderTarget(rule)) {
        rules.push_back(*std::move(wider));
        is_wider = true;
        continue;
      }
    }
    rules.push_back(rule);
  }
  return is_wider ? rules : std::vector<Rule>{};
}

}  // namespace

std::vector<RememberedForm> FormsToRemember(const std::vector<Requirement>& pending,
                                            const Request& request,
                                            const std::string& workspace_root,
                                            const std::vector<RuleProgram>& programs) {
  std::vector<RememberedForm> forms;
  std::vector<Rule> narrow = NarrowRules(pending, request, workspace_root, programs);
  if (narrow.empty()) return forms;
  forms.push_back({"exactly this", narrow});
  forms.push_back(
      {"exactly this, for the next 8 hours", UntilLater(narrow, std::chrono::hours(8))});
  std::vector<Rule> wide = Widened(narrow, request, workspace_root);
  if (!wide.empty()) forms.push_back({"more than this: every use that the rules name", wide});
  return forms;
}

}  // namespace cordon::internal
