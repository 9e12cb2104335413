#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/time/time.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "file_io.h"
#include "rule_usage.h"
#include "strict_json.h"

namespace cordon {
namespace {

using internal::Json;
using internal::MemberReader;

constexpr std::size_t kMaxFileBytes = 1024 * 1024;
constexpr std::uint64_t kVersion = 1;

absl::Status Refused(const std::string& path, std::string_view reason) {
  return MakeError(ErrorCode::kInvalidRules, "the rule file " + EscapeForDisplay(path) +
                                                 " is refused: " + std::string(reason));
}

// --- one rule as JSON

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

absl::StatusOr<std::chrono::system_clock::time_point> ParseTimeText(const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%dT%H:%M:%E3SZ", text, &time, &error)) {
    return absl::InvalidArgumentError("\"" + EscapeForDisplay(text) +
                                      "\" is no time like 2026-01-31T12:00:00.000Z");
  }
  return absl::ToChronoTime(time);
}

Json RuleToJson(const Rule& rule) {
  Json json;
  json["id"] = rule.id;
  json["effect"] = std::string(RuleEffectName(rule.effect));
  json["match"] = std::string(RuleMatchName(rule.match));
  json["text"] = rule.text;
  if (rule.access.has_value()) json["access"] = std::string(CapabilityKindName(*rule.access));
  if (!rule.directory.empty()) json["directory"] = rule.directory;
  if (rule.until.has_value()) json["until"] = TimeText(*rule.until);
  if (rule.uses.has_value()) json["uses"] = *rule.uses;
  for (const RuleProgram& program : rule.programs) {
    Json file = {{"path", program.path}};
    if (!program.sha256.empty()) file["sha256"] = program.sha256;
    json["programs"].push_back(std::move(file));
  }
  if (!rule.who.empty()) json["who"] = rule.who;
  json["when"] = TimeText(rule.when);
  if (!rule.why.empty()) json["why"] = rule.why;
  return json;
}

absl::Status SetAccess(Rule& rule, const std::string& name) {
  const absl::StatusOr<CapabilityKind> kind = ParseCapabilityKind(name);
  const bool for_files = rule.match == RuleMatch::kPath || rule.match == RuleMatch::kTree;
  const bool is_file_kind = kind.ok() && (*kind == CapabilityKind::kFilesystemRead ||
                                          *kind == CapabilityKind::kFilesystemWrite);
  if (!for_files || !is_file_kind) return absl::InvalidArgumentError("\"access\" does not fit");
  rule.access = *kind;
  return absl::OkStatus();
}

absl::Status SetDirectory(Rule& rule, std::string directory) {
  if (directory.empty() || directory[0] != '/' || NormalizePath(directory) != directory) {
    return absl::InvalidArgumentError("\"directory\" is not an absolute, normal path");
  }
  rule.directory = std::move(directory);
  return absl::OkStatus();
}

absl::Status AddProgram(Rule& rule, const Json& json) {
  MemberReader members(json, "a program");
  RuleProgram program{members.String("path"), members.OptionalString("sha256").value_or("")};
  if (absl::Status status = members.Finish(); !status.ok()) return status;
  const bool is_path = program.path.starts_with('/') && NormalizePath(program.path) == program.path;
  if (!is_path) return absl::InvalidArgumentError("a program's path is not absolute and normal");
  const bool is_digest = program.sha256.empty() || internal::IsSha256Text(program.sha256);
  if (!is_digest) return absl::InvalidArgumentError("\"sha256\" is not 64 lower-case digits");
  rule.programs.push_back(std::move(program));
  return absl::OkStatus();
}

// What no member says by itself.
absl::Status CheckRule(const Rule& rule) {
  const bool for_commands =
      rule.match == RuleMatch::kExactCommand || rule.match == RuleMatch::kCommandFamily;
  if (!rule.programs.empty() && (rule.effect == RuleEffect::kDeny || !for_commands)) {
    return absl::InvalidArgumentError("only a rule that allows commands can be bound to programs");
  }
  if (rule.uses.has_value() && rule.effect == RuleEffect::kDeny) {
    return absl::InvalidArgumentError("a denial cannot have a number of uses");
  }
  return absl::OkStatus();
}

absl::Status SetUses(Rule& rule, std::uint64_t uses) {
  if (uses > std::numeric_limits<std::uint32_t>::max()) {
    return absl::InvalidArgumentError("\"uses\" is too large");
  }
  rule.uses = static_cast<std::uint32_t>(uses);
  return absl::OkStatus();
}

absl::StatusOr<Rule> RuleFromJson(const Json& json, std::string_view name) {
  MemberReader members(json, name);
  const std::string id = members.String("id");
  const std::optional<RuleEffect> effect = ParseRuleEffect(members.String("effect"));
  const std::optional<RuleMatch> match = ParseRuleMatch(members.String("match"));
  const std::string text = members.String("text");
  const std::optional<std::string> access = members.OptionalString("access");
  std::optional<std::string> directory = members.OptionalString("directory");
  const std::optional<std::string> until = members.OptionalString("until");
  const std::optional<std::uint64_t> uses = members.OptionalNumber("uses");
  const Json* const programs = members.OptionalArray("programs");
  std::string who = members.OptionalString("who").value_or("");
  const std::string when = members.String("when");
  std::string why = members.OptionalString("why").value_or("");
  if (absl::Status status = members.Finish(); !status.ok()) return status;
  if (id.empty()) return absl::InvalidArgumentError("\"id\" is empty");
  if (!effect.has_value())
    return absl::InvalidArgumentError("\"effect\" is neither allow nor deny");
  if (!match.has_value()) return absl::InvalidArgumentError("\"match\" is unknown");

  absl::StatusOr<Rule> rule = MakeRule(*effect, *match, text);
  if (!rule.ok()) return rule.status();
  if (rule->text != text)
    return absl::InvalidArgumentError("\"text\" is not in canonical spelling");
  rule->id = id;
  if (access.has_value()) {
    if (absl::Status status = SetAccess(*rule, *access); !status.ok()) return status;
  }
  if (directory.has_value()) {
    absl::Status status = SetDirectory(*rule, *std::move(directory));
    if (!status.ok()) return status;
  }
  const auto when_time = ParseTimeText(when);
  if (!when_time.ok()) return when_time.status();
  rule->when = *when_time;
  if (until.has_value()) {
    const auto until_time = ParseTimeText(*until);
    if (!until_time.ok()) return until_time.status();
    rule->until = *until_time;
  }
  if (uses.has_value()) {
    if (absl::Status status = SetUses(*rule, *uses); !status.ok()) return status;
  }
  if (programs != nullptr) {
    for (const Json& program : *programs) {
      if (absl::Status status = AddProgram(*rule, program); !status.ok()) return status;
    }
  }
  rule->who = std::move(who);
  rule->why = std::move(why);
  if (absl::Status status = CheckRule(*rule); !status.ok()) return status;
  return rule;
}

// --- the whole file

absl::StatusOr<std::vector<Rule>> RulesFromText(const std::string& text) {
  const absl::StatusOr<Json> json = internal::ParseStrictJson(text);
  if (!json.ok()) return json.status();
  MemberReader members(*json, "the file");
  const std::uint64_t version = members.Number("version");
  const Json& list = members.Array("rules");
  if (absl::Status status = members.Finish(); !status.ok()) return status;
  if (version != kVersion) return absl::InvalidArgumentError("its version is not 1");
  std::vector<Rule> rules;
  for (const Json& item : list) {
    const std::string name = "rule " + std::to_string(rules.size() + 1);
    absl::StatusOr<Rule> rule = RuleFromJson(item, name);
    if (!rule.ok()) return Annotate(rule.status(), name);
    const bool repeated = std::any_of(rules.begin(), rules.end(),
                                      [&rule](const Rule& r) { return r.id == rule->id; });
    if (repeated) return absl::InvalidArgumentError(name + " has the id of an earlier one");
    rules.push_back(*std::move(rule));
  }
  return rules;
}

std::string RulesToText(const std::vector<Rule>& rules) {
  Json json;
  json["version"] = kVersion;
  json["rules"] = Json::array();
  for (const Rule& rule : rules) json["rules"].push_back(RuleToJson(rule));
  return internal::DumpJson(json, 2) + "\n";
}

// Why the file behind `fd` is not to be trusted; empty when it is.
std::string_view UntrustedFile(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return "it is not a regular file";
  if (info.st_uid != geteuid() && info.st_uid != 0) return "it belongs to another user";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write it; use chmod go-w";
  if (info.st_nlink != 1) return "it has several hard links";
  if (static_cast<std::uint64_t>(info.st_size) > kMaxFileBytes) return "it is larger than 1 MiB";
  return {};
}

// Everything that identifies a rule but its own name, history and number of uses.
bool SameRule(const Rule& a, const Rule& b) {
  return a.effect == b.effect && a.match == b.match && a.text == b.text && a.access == b.access &&
         a.directory == b.directory && a.until == b.until && a.programs == b.programs &&
         a.uses.has_value() == b.uses.has_value();
}

absl::StatusOr<UniqueFd> LockRules(const std::string& path) {
  const std::string lock_path = path + ".lock";
  UniqueFd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return MakeErrnoError(errno, "cannot lock " + EscapeForDisplay(lock_path));
  int result = 0;
  do {
    result = flock(lock.get(), LOCK_EX);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return MakeErrnoError(errno, "cannot lock " + EscapeForDisplay(lock_path));
  return lock;
}

// `change` gets the rules of the file, none when it is missing, and says whether to go on.
template <typename Change>
absl::Status UpdateRuleFile(const std::string& path, const Change& change) {
  const absl::StatusOr<UniqueFd> lock = LockRules(path);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<std::vector<Rule>> rules = LoadRuleFile(path);
  if (!rules.ok() && !Is(rules.status(), ErrorCode::kNotFound)) return rules.status();
  std::vector<Rule> changed = rules.ok() ? *std::move(rules) : std::vector<Rule>{};
  if (absl::Status status = change(changed); !status.ok()) return status;
  const std::string text = RulesToText(changed);
  if (text.size() > kMaxFileBytes) return Refused(path, "it would be larger than 1 MiB");
  return internal::ReplaceFile(path, text);
}

}  // namespace

absl::StatusOr<std::vector<Rule>> LoadRuleFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) {
    if (errno == ELOOP) return Refused(path, "it is a symbolic link");
    return MakeErrnoError(errno, "cannot open the rule file " + EscapeForDisplay(path));
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return Refused(path, "it cannot be examined");
  const std::string_view untrusted = UntrustedFile(info);
  if (!untrusted.empty()) return Refused(path, untrusted);
  const absl::StatusOr<std::string> text = internal::ReadAll(file.get(), kMaxFileBytes);
  if (!text.ok()) return Refused(path, "it cannot be read");
  absl::StatusOr<std::vector<Rule>> rules = RulesFromText(*text);
  if (!rules.ok()) {
    return Refused(path,
                   std::string(rules.status().message().data(), rules.status().message().size()));
  }
  return rules;
}

absl::Status AddToRuleFile(const std::string& path, std::vector<Rule> rules) {
  for (const Rule& rule : rules) {
    const absl::Status consistent = CheckRule(rule);
    if (consistent.ok()) continue;
    return MakeError(ErrorCode::kInvalidOption,
                     std::string(consistent.message().data(), consistent.message().size()));
  }
  return UpdateRuleFile(path, [&rules](std::vector<Rule>& stored) {
    for (Rule& rule : rules) {
      const auto known = std::find_if(stored.begin(), stored.end(),
                                      [&rule](const Rule& r) { return SameRule(r, rule); });
      if (known != stored.end()) {
        known->uses = rule.uses;
        continue;
      }
      if (rule.id.empty()) rule.id = RandomId().substr(0, 12);
      if (rule.when == std::chrono::system_clock::time_point{}) {
        rule.when = std::chrono::system_clock::now();
      }
      stored.push_back(std::move(rule));
    }
    return absl::OkStatus();
  });
}

absl::Status RemoveFromRuleFile(const std::string& path, std::string_view id) {
  return UpdateRuleFile(path, [id](std::vector<Rule>& stored) {
    const auto removed = std::remove_if(stored.begin(), stored.end(),
                                        [id](const Rule& rule) { return rule.id == id; });
    if (removed == stored.end()) {
      return MakeError(ErrorCode::kNotFound, "there is no rule \"" + EscapeForDisplay(id) + "\"");
    }
    stored.erase(removed, stored.end());
    return absl::OkStatus();
  });
}

namespace internal {

absl::Status TakeUsesInRuleFile(const std::string& path, const std::vector<std::string>& ids) {
  return UpdateRuleFile(path, [&ids](std::vector<Rule>& stored) {
    for (const std::string& id : ids) {
      const auto rule =
          std::find_if(stored.begin(), stored.end(), [&id](const Rule& r) { return r.id == id; });
      if (rule == stored.end() || rule->uses == 0) {
        return MakeError(ErrorCode::kApprovalStale, "a rule was used up or removed meanwhile");
      }
      if (rule->uses.has_value()) --*rule->uses;
    }
    return absl::OkStatus();
  });
}

}  // namespace internal
}  // namespace cordon
