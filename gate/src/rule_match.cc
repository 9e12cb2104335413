#include "rule_match.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "command_match.h"
#include "cordon/sdk/address_class.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_policy.h"
#include "wrappers.h"

namespace cordon::internal {
namespace {

using Rules = std::vector<const Rule*>;

bool IsLive(const Rule& rule, std::chrono::system_clock::time_point now) {
  return (!rule.until.has_value() || now < *rule.until) && rule.uses.value_or(1) > 0;
}

// Whether the rule holds where the request's command starts.
bool HoldsIn(const Rule& rule, const Request& request) {
  if (rule.directory.empty()) return true;
  if (!request.command.has_value()) return rule.effect == RuleEffect::kDeny;
  const std::string& directory = request.command->working_directory;
  if (rule.match == RuleMatch::kExactCommand) return directory == rule.directory;
  return IsWithin(directory, rule.directory);
}

Rules Select(absl::Span<const Rule> rules, RuleEffect effect, const Request& request,
             std::chrono::system_clock::time_point now) {
  Rules selected;
  for (const Rule& rule : rules) {
    if (rule.effect == effect && IsLive(rule, now) && HoldsIn(rule, request)) {
      selected.push_back(&rule);
    }
  }
  return selected;
}

RuleDecision Decide(RuleDecision::Verdict verdict, const Rule& rule, std::string reason = {}) {
  return {verdict, RuleText(rule), std::move(reason), {rule.id}};
}

// --- commands

// A denial of shell text also holds for the same words as argv.
bool DeniesExactly(const Rule& rule, const Requirement& requirement) {
  constexpr std::string_view kArgvPrefix = "argv: ";
  const std::string_view match = requirement.match;
  return match == rule.text ||
         (match.starts_with(kArgvPrefix) && match.substr(kArgvPrefix.size()) == rule.text);
}

RuleDecision DecideDeniedCommand(const Rules& denies, const Requirement& requirement,
                                 const ShellText& text) {
  RuleDecision decision;
  for (const Rule* rule : denies) {
    if (rule->match == RuleMatch::kExactCommand && DeniesExactly(*rule, requirement)) {
      return Decide(RuleDecision::Verdict::kDeny, *rule);
    }
    if (rule->match != RuleMatch::kCommandFamily) continue;
    FamilyFinding found = FindFamilyUse(text, rule->text);
    if (found.hit == FamilyHit::kYes) return Decide(RuleDecision::Verdict::kDeny, *rule);
    if (found.hit == FamilyHit::kMight && decision.verdict == RuleDecision::Verdict::kNone) {
      decision = Decide(RuleDecision::Verdict::kAsk, *rule, std::move(found.reason));
    }
  }
  return decision;
}

// A command with its simple commands and what finds their programs.
struct CommandView {
  const Command& command;
  const ShellText& text;
  const ProgramPath& programs;

  [[nodiscard]] bool HasProgramsOf(const Rule& rule,
                                   absl::Span<const SimpleCommand> commands) const {
    if (rule.programs.empty()) return true;
    if (text.opaque) return false;
    return programs.AreAmong(commands, rule.programs, command.working_directory);
  }
};

const Rule* FindExactAllow(const Rules& allows, const Requirement& requirement,
                           const CommandView& view) {
  const auto it = std::find_if(allows.begin(), allows.end(), [&](const Rule* rule) {
    return rule->match == RuleMatch::kExactCommand && rule->text == requirement.match &&
           view.HasProgramsOf(*rule, UnwrapAll(view.text).commands);
  });
  return it == allows.end() ? nullptr : *it;
}

// Whether no `cd` leaves the folder that the rules hold in through a symbolic link.
bool StaysBelow(const ShellText& text, const std::string& directory) {
  const std::optional<std::vector<std::string>> folders = FoldersEntered(text);
  if (!folders.has_value()) return false;
  if (folders->size() == 1) return true;
  std::error_code error;
  const auto root = std::filesystem::weakly_canonical(directory, error);
  if (error) return false;
  return std::all_of(folders->begin(), folders->end(), [&](const std::string& folder) {
    std::error_code failed;
    const auto entered = std::filesystem::weakly_canonical(root / folder, failed);
    return !failed && IsWithin(entered.string(), root.string());
  });
}

RuleDecision DecideByFamilies(const Rules& allows, const CommandView& view) {
  Rules families;
  std::vector<std::string> names;
  for (const Rule* rule : allows) {
    if (rule->match != RuleMatch::kCommandFamily) continue;
    families.push_back(rule);
    names.push_back(rule->text);
  }
  const std::optional<std::vector<std::size_t>> covering =
      CoverWithFamilies(view.text, names, [&](std::size_t family, const SimpleCommand& command) {
        return view.HasProgramsOf(*families[family], absl::MakeConstSpan(&command, 1));
      });
  if (!covering.has_value() || !StaysBelow(view.text, view.command.working_directory)) return {};
  RuleDecision decision{RuleDecision::Verdict::kAllow, "", "", {}};
  for (const std::size_t index : *covering) {
    const Rule& rule = *families[index];
    const auto& ids = decision.ids;
    if (std::find(ids.begin(), ids.end(), rule.id) != ids.end()) continue;
    decision.ids.push_back(rule.id);
    decision.rule += (decision.rule.empty() ? "" : "; ") + RuleText(rule);
  }
  return decision;
}

RuleDecision DecideCommand(const Rules& denies, const Rules& allows, const Requirement& requirement,
                           const Command& command, const ProgramPath& programs) {
  const ShellText text = ReadCommand(command);
  const CommandView view{command, text, programs};
  RuleDecision denied = DecideDeniedCommand(denies, requirement, text);
  if (denied.verdict == RuleDecision::Verdict::kDeny) return denied;
  // A person who allowed exactly this text has seen it; a family rule has not.
  const Rule* exact = HasKnownShell(command) ? FindExactAllow(allows, requirement, view) : nullptr;
  if (exact != nullptr) return Decide(RuleDecision::Verdict::kAllow, *exact);
  if (denied.verdict == RuleDecision::Verdict::kAsk) return denied;
  return DecideByFamilies(allows, view);
}

// --- network

bool HostsOverlap(const NetworkTarget& a, const NetworkTarget& b) {
  const NetworkTarget host_a{a.host, 1, a.is_address};
  const NetworkTarget host_b{b.host, 1, b.is_address};
  return Covers(host_a, host_b) || Covers(host_b, host_a);
}

bool Overlap(const NetworkTarget& a, const NetworkTarget& b) {
  const bool ports = a.port == 0 || b.port == 0 || a.port == b.port;
  return ports && HostsOverlap(a, b);
}

// A denial holds for every requirement that would reach what it denies, an allow only for those
// that it covers whole.
bool MatchesNetwork(const Rule& rule, const NetworkTarget& wanted) {
  if (rule.match != RuleMatch::kNetworkTarget) return false;
  const absl::StatusOr<NetworkTarget> stored = ParseNetworkTarget(rule.text);
  if (!stored.ok()) return rule.effect == RuleEffect::kDeny;
  return rule.effect == RuleEffect::kDeny ? Overlap(*stored, wanted) : Grants(*stored, wanted);
}

// --- paths

bool CoversAccess(const Rule& rule, CapabilityKind wanted) {
  if (!rule.access.has_value() || *rule.access == wanted) return true;
  return rule.effect == RuleEffect::kDeny && *rule.access == CapabilityKind::kFilesystemRead;
}

bool DeniesPath(const Rule& rule, const Scope& wanted) {
  if (wanted.form == Scope::Form::kHost) return true;
  const bool below_wanted = wanted.form == Scope::Form::kTree && IsWithin(rule.text, wanted.path);
  const bool above_wanted =
      rule.match == RuleMatch::kTree ? IsWithin(wanted.path, rule.text) : wanted.path == rule.text;
  return below_wanted || above_wanted;
}

bool AllowsPath(const Rule& rule, const Scope& wanted) {
  switch (wanted.form) {
    case Scope::Form::kNone:
      return false;
    case Scope::Form::kHost:
      return rule.match == RuleMatch::kTree && rule.text == "/";
    case Scope::Form::kTree:
      return rule.match == RuleMatch::kTree && IsWithin(wanted.path, rule.text);
    case Scope::Form::kPath:
      if (rule.match == RuleMatch::kPath) return wanted.path == rule.text;
      return IsWithin(wanted.path, rule.text);
  }
  return false;
}

bool MatchesPath(const Rule& rule, CapabilityKind kind, const Scope& wanted) {
  if (rule.match != RuleMatch::kPath && rule.match != RuleMatch::kTree) return false;
  if (!CoversAccess(rule, kind)) return false;
  return rule.effect == RuleEffect::kDeny ? DeniesPath(rule, wanted) : AllowsPath(rule, wanted);
}

// --- all of them

template <typename Matches>
RuleDecision FirstMatch(const Rules& denies, const Rules& allows, const Matches& matches) {
  for (const Rule* rule : denies) {
    if (matches(*rule)) return Decide(RuleDecision::Verdict::kDeny, *rule);
  }
  for (const Rule* rule : allows) {
    if (matches(*rule)) return Decide(RuleDecision::Verdict::kAllow, *rule);
  }
  return {};
}

RuleDecision Unreadable() {
  return {RuleDecision::Verdict::kAsk, "", "what is needed cannot be compared with rules", {}};
}

}  // namespace

RuleDecision DecideByRules(absl::Span<const Rule> rules, const Requirement& requirement,
                           const Request& request, std::chrono::system_clock::time_point now,
                           const ProgramPath& programs) {
  const Rules denies = Select(rules, RuleEffect::kDeny, request, now);
  const Rules allows = Select(rules, RuleEffect::kAllow, request, now);
  switch (requirement.kind) {
    case CapabilityKind::kCommandExecute:
      if (!request.command.has_value()) return Unreadable();
      return DecideCommand(denies, allows, requirement, *request.command, programs);
    case CapabilityKind::kNetwork: {
      const absl::StatusOr<NetworkTarget> wanted = ParseNetworkTarget(requirement.match);
      if (!wanted.ok()) return Unreadable();
      return FirstMatch(denies, allows,
                        [&wanted](const Rule& rule) { return MatchesNetwork(rule, *wanted); });
    }
    case CapabilityKind::kFilesystemRead:
    case CapabilityKind::kFilesystemWrite: {
      const absl::StatusOr<Scope> wanted = ParseScope(requirement.scope);
      if (!wanted.ok()) return Unreadable();
      return FirstMatch(denies, allows, [&](const Rule& rule) {
        return MatchesPath(rule, requirement.kind, *wanted);
      });
    }
  }
  return Unreadable();
}

}  // namespace cordon::internal
