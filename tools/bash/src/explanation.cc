#include "explanation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/path_policy.h"
#include "nlohmann/json.hpp"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxSentences = 4;
// Complaints stand at the end of what a failing program writes; a long log is not searched whole.
constexpr std::size_t kMaxSearchedBytes = 64 * 1024;

// The texts of ENOENT, EACCES, EROFS and EPERM, and dash's own words for the first.
constexpr std::array<std::string_view, 5> kPathComplaints = {
    "No such file or directory", "Directory nonexistent", "Permission denied",
    "Read-only file system", "Operation not permitted"};

constexpr std::array<std::string_view, 7> kNetworkComplaints = {
    "Could not resolve host",    "Temporary failure in name resolution",
    "Name or service not known", "Network is unreachable",
    "Connection refused",        "Failed to connect",
    "Couldn't connect"};

// What programs say that wanted a person, and what a model can do instead.
struct WantedPerson {
  std::string_view complaint;
  std::string_view advice;
};

constexpr std::string_view kNoSudo =
    "sudo, su and doas cannot give rights here; install into the workspace or HOME instead, or ask "
    "the person to do it outside";
constexpr std::string_view kNoPassword =
    "nobody can be asked for a password or a key here, and those of the person are out of reach; "
    "for a private repository ask the person to fetch it outside";
constexpr std::string_view kNoEditor =
    "no editor opens here; give the text in the command, e.g. git commit -m, or "
    "GIT_SEQUENCE_EDITOR='sed -i ...' for a rebase";
constexpr std::string_view kNoTerminal =
    "there is no terminal here; use the program's option for batch use";

constexpr std::array<WantedPerson, 17> kWantedPersons = {{
    {"\"no new privileges\" flag is set", kNoSudo},
    {"sudo: a terminal is required", kNoSudo},
    {"sudo: a password is required", kNoSudo},
    {"sudo: command not found", kNoSudo},
    {"sudo: not found", kNoSudo},
    {"effective uid is not 0", kNoSudo},
    {"must be run from a terminal", kNoSudo},
    {"terminal prompts disabled", kNoPassword},
    {"could not read Username", kNoPassword},
    {"could not read Password", kNoPassword},
    {"Permission denied (publickey", kNoPassword},
    {"Host key verification failed", kNoPassword},
    {"There was a problem with the editor", kNoEditor},
    {"Terminal is dumb, but EDITOR unset", kNoEditor},
    {"not a terminal", kNoTerminal},
    {"input device is not a TTY", kNoTerminal},
    {"EOFError: EOF when reading a line",
     "standard input is at end of file; pass what the program "
     "asks for as arguments, or by a pipe"},
}};

std::string_view AdviceForWantedPerson(std::string_view line) {
  for (const WantedPerson& wanted : kWantedPersons) {
    if (line.find(wanted.complaint) != std::string_view::npos) return wanted.advice;
  }
  return {};
}

bool SaysMissing(std::string_view complaint) {
  return complaint == kPathComplaints[0] || complaint == kPathComplaints[1];
}

// What a complaint ends or begins a path with.
bool IsPathDelimiter(char c) {
  return c == ' ' || c == '\t' || c == '\'' || c == '"' || c == '`' || c == ':' || c == '(' ||
         c == ')' || c == ',';
}

// The absolute path that ends `text` but for delimiters, as in `cat: '/a/b': `; empty when none.
std::string_view PathAtEnd(std::string_view text) {
  while (!text.empty() && IsPathDelimiter(text.back())) text.remove_suffix(1);
  std::size_t start = text.size();
  while (start > 0 && !IsPathDelimiter(text[start - 1])) --start;
  const std::string_view word = text.substr(start);
  return word.starts_with('/') ? word : std::string_view();
}

// The absolute path that begins `text` but for delimiters, as in `: '/a/b'`; empty when none.
std::string_view PathAtStart(std::string_view text) {
  while (!text.empty() && IsPathDelimiter(text.front())) text.remove_prefix(1);
  if (!text.starts_with('/')) return {};
  const auto end = std::find_if(text.begin(), text.end(), IsPathDelimiter);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

struct PathComplaint {
  std::string path;
  bool missing = false;  // The program was told that it does not exist.
};

std::optional<PathComplaint> FindPathComplaint(std::string_view line) {
  for (const std::string_view complaint : kPathComplaints) {
    const std::size_t at = line.find(complaint);
    if (at == std::string_view::npos) continue;
    std::string_view path = PathAtEnd(line.substr(0, at));
    if (path.empty()) path = PathAtStart(line.substr(at + complaint.size()));
    if (path.empty()) return std::nullopt;
    return PathComplaint{NormalizePath(path), SaysMissing(complaint)};
  }
  return std::nullopt;
}

bool IsNetworkComplaint(std::string_view line) {
  return std::any_of(kNetworkComplaints.begin(), kNetworkComplaints.end(), [line](auto complaint) {
    return line.find(complaint) != std::string_view::npos;
  });
}

std::string AskForPath(std::string_view kind, const std::string& path) {
  const nlohmann::json entry = {{"kind", kind}, {"path", path}};
  return "declare it, then a person is asked: \"access\": [" +
         entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "]";
}

std::string AskForTarget(const std::string& target) {
  const nlohmann::json entry = {{"kind", "network"}, {"target", target}};
  return "declare it, then a person is asked: \"access\": [" +
         entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "]";
}

constexpr std::string_view kOnlyThePerson = "only the person who set up this profile can allow it";

std::string OriginText(const PathDecision& decision) {
  std::string text = decision.origin;
  if (!decision.rule.empty()) text += (text.empty() ? "" : ": ") + decision.rule;
  return EscapeForDisplay(text);
}

// Whether this very run had more than the profile for `path`, or for the network.
bool GrantConcerns(const ConsumedGrant& grant, const std::string& path) {
  switch (grant.grant_class) {
    case GrantClass::kCommandStart:
    case GrantClass::kNetworkTarget:
    case GrantClass::kNetworkBroad:
      return false;
    case GrantClass::kFilesystemPathRead:
    case GrantClass::kFilesystemPathWrite:
    case GrantClass::kFilesystemTreeRead:
    case GrantClass::kFilesystemTreeWrite:
    case GrantClass::kFilesystemHostRead:
    case GrantClass::kFilesystemHostWrite:
      return IsWithin(path, grant.target);
  }
  return false;
}

bool IsForNetwork(const ConsumedGrant& grant) {
  return grant.grant_class == GrantClass::kNetworkTarget ||
         grant.grant_class == GrantClass::kNetworkBroad;
}

std::optional<std::string> ExplainPath(const PathComplaint& complaint, const Profile& profile) {
  const PathDecision read = profile.Explain(Axis::kRead, complaint.path);
  const PathDecision write = profile.Explain(Axis::kWrite, complaint.path);
  const bool read_withheld = read.access != Access::kAllow;
  const bool write_withheld = write.access != Access::kAllow && !complaint.missing;
  if (!read_withheld && !write_withheld) return std::nullopt;

  const PathDecision& decision = read_withheld ? read : write;
  const std::string_view kind = read_withheld ? "filesystem.read" : "filesystem.write";
  return absl::StrFormat("%s cannot be %s here (%s); %s", EscapeForDisplay(complaint.path),
                         read_withheld ? "read or written" : "written", OriginText(decision),
                         decision.access == Access::kGated ? AskForPath(kind, complaint.path)
                                                           : std::string(kOnlyThePerson));
}

std::string ExplainNetworkMode(const Profile& profile) {
  const ProfileConfig& settings = profile.Settings();
  std::string text = "commands have no network here, and 127.0.0.1 is the sandbox's own";
  if (!settings.network_targets.empty()) {
    text = "commands reach only the network targets that the profile lists";
  }
  return text + "; " +
         (settings.network == Access::kGated ? AskForTarget("HOST:PORT")
                                             : std::string(kOnlyThePerson));
}

}  // namespace

std::vector<std::string> ExplainComplaints(std::string_view standard_error, const Profile& profile,
                                           const std::vector<ConsumedGrant>& grants) {
  if (standard_error.size() > kMaxSearchedBytes) {
    standard_error.remove_prefix(standard_error.size() - kMaxSearchedBytes);
  }
  std::vector<std::string> sentences;
  std::set<std::string> seen;
  const auto add = [&sentences, &seen](std::string sentence) {
    if (seen.insert(sentence).second) sentences.push_back(std::move(sentence));
  };
  const bool network_withheld = profile.Settings().network != Access::kAllow &&
                                std::none_of(grants.begin(), grants.end(), IsForNetwork);

  while (!standard_error.empty() && sentences.size() < kMaxSentences) {
    const std::string_view line = standard_error.substr(0, standard_error.find('\n'));
    standard_error.remove_prefix(std::min(line.size() + 1, standard_error.size()));
    if (const std::string_view advice = AdviceForWantedPerson(line); !advice.empty()) {
      add(std::string(advice));
      continue;
    }
    if (network_withheld && IsNetworkComplaint(line)) add(ExplainNetworkMode(profile));
    if (const std::optional<PathComplaint> complaint = FindPathComplaint(line)) {
      const bool granted = std::any_of(
          grants.begin(), grants.end(),
          [&complaint](const auto& grant) { return GrantConcerns(grant, complaint->path); });
      if (granted) continue;
      if (std::optional<std::string> sentence = ExplainPath(*complaint, profile)) {
        add(*std::move(sentence));
      }
    }
  }
  return sentences;
}

std::string HowToAllow(const Denial& denial, const Profile& profile) {
  constexpr std::string_view kTcp = "tcp:";
  if (denial.kind == "network" && denial.target.starts_with(kTcp)) {
    const std::string target = denial.target.substr(kTcp.size());
    const absl::StatusOr<PathDecision> decision = profile.ExplainNetwork(target);
    if (decision.ok() && decision->access == Access::kGated) return AskForTarget(target);
  }
  if (denial.kind == "filesystem.read" || denial.kind == "filesystem.write") {
    const Axis axis = denial.kind == "filesystem.read" ? Axis::kRead : Axis::kWrite;
    if (profile.Explain(axis, denial.target).access == Access::kGated) {
      return AskForPath(denial.kind, denial.target);
    }
  }
  if (denial.allow_with.empty()) return std::string(kOnlyThePerson);
  return "the person who set up this profile can allow it with " +
         EscapeForDisplay(denial.allow_with);
}

}  // namespace cordon::internal
