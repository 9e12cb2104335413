#include "cordon/gate/rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "absl/time/time.h"
#include "command_match.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "families.h"
#include "program_path.h"
#include "utf8.h"

namespace cordon {
namespace {

constexpr std::size_t kMaxTextBytes = 64 * 1024;

constexpr RuleMatch kMatches[] = {RuleMatch::kExactCommand, RuleMatch::kCommandFamily,
                                  RuleMatch::kNetworkTarget, RuleMatch::kPath, RuleMatch::kTree};

bool IsFamilyChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._+-").find(c) != std::string_view::npos;
}

absl::Status InvalidFamily(std::string_view text) {
  return MakeError(ErrorCode::kInvalidCommand,
                   "a family is a program's name and at most one subcommand, e.g. \"git status\", "
                   "not \"" +
                       EscapeForDisplay(text) + "\"");
}

absl::StatusOr<std::string> CanonicalFamily(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = text.find_first_not_of(' ', i);
    if (start == std::string_view::npos) break;
    const std::size_t end = std::min(text.find(' ', start), text.size());
    words.emplace_back(text.substr(start, end - start));
    i = end;
  }
  if (words.empty() || words.size() > 2) return InvalidFamily(text);
  for (const std::string& word : words) {
    if (word[0] == '-' || !std::all_of(word.begin(), word.end(), IsFamilyChar)) {
      return InvalidFamily(text);
    }
  }
  return words.size() == 1 ? words[0] : words[0] + " " + words[1];
}

absl::StatusOr<std::string> CanonicalTarget(std::string_view text) {
  const absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(text);
  if (!target.ok()) return target.status();
  return NetworkTargetText(*target);
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

absl::Status SetPath(Rule& rule, std::string_view text) {
  if (TakePrefix(text, "read:")) rule.access = CapabilityKind::kFilesystemRead;
  if (!rule.access.has_value() && TakePrefix(text, "write:")) {
    rule.access = CapabilityKind::kFilesystemWrite;
  }
  if (text.empty() || text[0] != '/' || text.find('\0') != std::string_view::npos) {
    return MakeError(ErrorCode::kInvalidScope,
                     "a path in a rule must be absolute, not \"" + EscapeForDisplay(text) + "\"");
  }
  rule.text = NormalizePath(text);
  return absl::OkStatus();
}

absl::Status SetText(Rule& rule, std::string_view text) {
  switch (rule.match) {
    case RuleMatch::kExactCommand:
      if (text.empty() || text.find('\0') != std::string_view::npos) {
        return MakeError(ErrorCode::kInvalidCommand, "a rule needs the text of a command");
      }
      rule.text = std::string(text);
      return absl::OkStatus();
    case RuleMatch::kCommandFamily: {
      absl::StatusOr<std::string> family = CanonicalFamily(text);
      if (family.ok()) rule.text = *std::move(family);
      return family.status();
    }
    case RuleMatch::kNetworkTarget: {
      absl::StatusOr<std::string> target = CanonicalTarget(text);
      if (target.ok()) rule.text = *std::move(target);
      return target.status();
    }
    case RuleMatch::kPath:
    case RuleMatch::kTree:
      return SetPath(rule, text);
  }
  return MakeError(ErrorCode::kInternal, "unknown kind of rule");
}

std::string_view AccessPrefix(const Rule& rule) {
  if (!rule.access.has_value()) return "";
  return *rule.access == CapabilityKind::kFilesystemRead ? "read:" : "write:";
}

std::string JoinWords(const std::vector<std::string_view>& words) {
  std::string line;
  for (const std::string_view word : words) line += " " + std::string(word);
  return line;
}

std::string Letters(std::string_view letters) {
  std::string line;
  for (const char letter : letters) line += std::string(" -") + letter;
  return line;
}

}  // namespace

std::string_view RuleEffectName(RuleEffect effect) {
  switch (effect) {
    case RuleEffect::kDeny:
      return "deny";
    case RuleEffect::kAllow:
      return "allow";
  }
  return "unknown";
}

std::string_view RuleMatchName(RuleMatch match) {
  switch (match) {
    case RuleMatch::kExactCommand:
      return "exact";
    case RuleMatch::kCommandFamily:
      return "family";
    case RuleMatch::kNetworkTarget:
      return "network";
    case RuleMatch::kPath:
      return "path";
    case RuleMatch::kTree:
      return "tree";
  }
  return "unknown";
}

std::optional<RuleEffect> ParseRuleEffect(std::string_view name) {
  for (const RuleEffect effect : {RuleEffect::kDeny, RuleEffect::kAllow}) {
    if (name == RuleEffectName(effect)) return effect;
  }
  return std::nullopt;
}

std::optional<RuleMatch> ParseRuleMatch(std::string_view name) {
  for (const RuleMatch match : kMatches) {
    if (name == RuleMatchName(match)) return match;
  }
  return std::nullopt;
}

absl::StatusOr<Rule> MakeRule(RuleEffect effect, RuleMatch match, std::string_view text) {
  if (text.size() > kMaxTextBytes || !internal::IsValidUtf8(text)) {
    return MakeError(ErrorCode::kInvalidCommand,
                     "the text of a rule must be UTF-8 of at most 64 KiB");
  }
  Rule rule;
  rule.effect = effect;
  rule.match = match;
  if (absl::Status status = SetText(rule, text); !status.ok()) return status;
  return rule;
}

std::string RuleText(const Rule& rule) {
  std::string line = std::string(RuleEffectName(rule.effect)) + " " +
                     std::string(RuleMatchName(rule.match)) + " \"" +
                     std::string(AccessPrefix(rule)) + EscapeForDisplay(rule.text) + "\"";
  if (!rule.directory.empty()) line += " in " + EscapeForDisplay(rule.directory);
  for (std::size_t i = 0; i < rule.programs.size(); ++i) {
    const RuleProgram& program = rule.programs[i];
    line += (i == 0 ? " with " : ", ") + EscapeForDisplay(program.path);
    if (!program.sha256.empty()) line += " of sha256 " + program.sha256.substr(0, 12);
  }
  if (rule.until.has_value()) {
    line +=
        " until " +
        absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromChrono(*rule.until), absl::UTCTimeZone()) +
        " UTC";
  }
  if (rule.uses == 1) line += " once";
  if (rule.uses.has_value() && *rule.uses != 1) {
    line += *rule.uses == 0 ? " (used up)" : " " + std::to_string(*rule.uses) + " times";
  }
  return line;
}

absl::StatusOr<RuleProgram> MakeRuleProgram(const std::string& path, bool with_content) {
  const std::vector<std::string> files = internal::ProgramPath("").Candidates(path, "");
  if (files.empty() || !path.starts_with('/')) {
    return MakeError(ErrorCode::kInvalidOption,
                     EscapeForDisplay(path) + " is no absolute path of a program");
  }
  RuleProgram program{files.front(), ""};
  if (!with_content) return program;
  absl::StatusOr<std::string> digest = internal::FileSha256(program.path);
  if (!digest.ok()) return digest.status();
  program.sha256 = *std::move(digest);
  return program;
}

std::string ProgramSearchPath(const Profile& profile) {
  std::string path;
  for (const std::string& entry : profile.Settings().environment) {
    if (entry.starts_with("PATH=")) path += entry.substr(5) + ":";
  }
  const char* const callers = std::getenv("PATH");
  if (callers != nullptr) path += std::string(callers) + ":";
  return path + std::string(internal::kStandardProgramPath);
}

std::string DescribeFamily(std::string_view name) {
  const std::size_t program_end = std::min(name.find(' '), name.size());
  if (internal::RunsOthers(name.substr(0, program_end))) {
    return "runs other programs: a rule that allows it covers nothing";
  }
  const internal::Family* family = internal::FindFamily(name);
  if (family == nullptr) return "not in the catalogue: only these words alone are covered";
  const std::string options = Letters(family->short_flags) + Letters(family->short_values) +
                              Letters(family->short_attached) + Letters(family->short_folders) +
                              JoinWords(family->long_flags) + JoinWords(family->long_values) +
                              JoinWords(family->long_folders);
  if (options.empty()) return "covered without options";
  return "covered with the options" + options;
}

}  // namespace cordon
