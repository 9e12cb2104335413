#include "profile_canonical.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/network_target.h"
#include "cordon/sdk/path_identity.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/status.h"
#include "glob.h"
#include "link_resolver.h"
#include "profile_paths.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxPasswdBytes = 1U << 20U;

absl::Status Invalid(std::string_view field, std::string_view what) {
  return MakeError(ErrorCode::kInvalidProfile, absl::StrFormat("%s: %s", field, what));
}

template <typename T>
void SortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

bool IsAccess(Access access) { return access <= Access::kAllow; }

absl::Status CheckEnumerators(const ProfileConfig& config) {
  const std::pair<std::string_view, Access> fields[] = {
      {"workspace_read", config.workspace_read},
      {"workspace_write", config.workspace_write},
      {"host_read", config.host_read},
      {"host_write", config.host_write},
      {"network", config.network},
      {"command", config.command},
  };
  for (const auto& [name, access] : fields) {
    if (!IsAccess(access)) return Invalid(name, "is no access value");
  }
  for (const AdditionalRoot& root : config.additional_roots) {
    if (!IsAccess(root.read) || !IsAccess(root.write)) {
      return Invalid("additional_roots", "has a value that is no access");
    }
  }
  if (config.network_route > NetworkRoute::kEnvironment) {
    return Invalid("network_route", "is no route");
  }
  if (config.home > HomeMode::kReal) return Invalid("home", "is no home mode");
  if (config.isolation > Isolation::kUnconfined) return Invalid("isolation", "is no isolation");
  if (config.audit > AuditMode::kDurable) return Invalid("audit", "is no audit mode");
  return absl::OkStatus();
}

// An absolute path with its symbolic links resolved.
absl::StatusOr<std::string> ResolvePath(std::string_view field, const std::string& path,
                                        LinkResolver& links) {
  if (path.empty()) return Invalid(field, "a path is empty");
  if (path.find('\0') != std::string::npos) return Invalid(field, "a path has a NUL byte");
  if (path[0] != '/') {
    return Invalid(field, absl::StrFormat("\"%s\" is relative, write an absolute path",
                                          EscapeForDisplay(path)));
  }
  absl::StatusOr<std::string> resolved = links.Resolve(path);
  if (resolved.ok()) return resolved;
  // Where the caller cannot look, as in another user's home, no command of theirs can either: the
  // rule stands for what was written.
  const std::optional<Error> error = ErrorOf(resolved.status());
  if (error.has_value() && error->error_number == EACCES) return NormalizePath(path);
  return Invalid(field, std::string(resolved.status().message()));
}

absl::StatusOr<std::string> ResolvePath(std::string_view field, const std::string& path) {
  LinkResolver links;
  return ResolvePath(field, path, links);
}

absl::Status ResolveWorkspace(ProfileConfig& config) {
  constexpr std::string_view kField = "workspace_root";
  if (config.workspace_root.empty()) return Invalid(kField, "is missing");
  absl::StatusOr<std::string> resolved = ResolvePath(kField, config.workspace_root);
  if (!resolved.ok()) return resolved.status();
  struct stat info {};
  if (stat(resolved->c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Invalid(kField, absl::StrFormat("\"%s\" is no folder that exists and can be reached",
                                           EscapeForDisplay(config.workspace_root)));
  }
  config.workspace_root = *std::move(resolved);
  return absl::OkStatus();
}

std::string HomeFromPasswd() {
  std::vector<char> buffer(1024);
  passwd entry{};
  passwd* found = nullptr;
  while (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < kMaxPasswdBytes) {
    buffer.resize(buffer.size() * 2);
  }
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

absl::Status ResolveHome(ProfileConfig& config) {
  constexpr std::string_view kField = "home_root";
  if (config.home_root.empty()) {
    const char* home = std::getenv("HOME");
    config.home_root = home != nullptr && home[0] == '/' ? home : HomeFromPasswd();
  }
  if (config.home_root.empty()) {
    return Invalid(kField, "neither $HOME nor the user's entry in passwd names one, set it");
  }
  absl::StatusOr<std::string> resolved = ResolvePath(kField, config.home_root);
  if (!resolved.ok()) return resolved.status();
  config.home_root = *std::move(resolved);
  if (config.home == HomeMode::kIsolated && config.isolation == Isolation::kSandboxed &&
      config.home_root == config.workspace_root && config.home_root != "/") {
    return Invalid("workspace_root",
                   absl::StrFormat("\"%s\" is the home folder, which would be shown instead of "
                                   "hidden; choose a folder in it, or set home to real",
                                   EscapeForDisplay(config.workspace_root)));
  }
  return absl::OkStatus();
}

class TreeNarrower {
 public:
  explicit TreeNarrower(ProfileConfig& config) : config_(config) {
    for (std::size_t i = 0; i < config.additional_roots.size(); ++i) {
      root_at_.emplace(config.additional_roots[i].path, i);
    }
  }

  // Sets `path` to an access of its own: the fields that stand for it, or a root. Narrows what is
  // there already.
  void Narrow(const std::string& path, Access read, Access write) {
    const auto narrow = [read, write](Access& own_read, Access& own_write) {
      own_read = Min(own_read, read);
      own_write = Min(own_write, write);
    };
    if (path == config_.workspace_root) {
      return narrow(config_.workspace_read, config_.workspace_write);
    }
    if (path == "/") return narrow(config_.host_read, config_.host_write);
    std::vector<AdditionalRoot>& roots = config_.additional_roots;
    const auto [at, is_new] = root_at_.emplace(path, roots.size());
    if (!is_new) return narrow(roots[at->second].read, roots[at->second].write);
    roots.push_back({.path = path, .read = read, .write = write});
  }

 private:
  ProfileConfig& config_;
  std::map<std::string, std::size_t> root_at_;
};

// What the fields already say about a path that is named as a root.
std::optional<AdditionalRoot> FieldsAt(const ProfileConfig& config, const std::string& path) {
  if (path == config.workspace_root) {
    return AdditionalRoot{path, config.workspace_read, config.workspace_write};
  }
  if (path == "/") return AdditionalRoot{path, config.host_read, config.host_write};
  return std::nullopt;
}

absl::Status CanonicalizeRoots(ProfileConfig& config) {
  constexpr std::string_view kField = "additional_roots";
  std::map<std::string, AdditionalRoot> roots;
  for (const AdditionalRoot& given : config.additional_roots) {
    absl::StatusOr<std::string> path = ResolvePath(kField, given.path);
    if (!path.ok()) return path.status();
    AdditionalRoot root = {*path, given.read, Min(given.read, given.write)};
    if (const std::optional<AdditionalRoot> fields = FieldsAt(config, *path)) {
      if (fields->read == given.read && fields->write == given.write) continue;
      return Invalid(
          kField, absl::StrFormat("\"%s\" contradicts the fields %s_read and %s_write, "
                                  "which speak of the same path: set those",
                                  EscapeForDisplay(given.path), *path == "/" ? "host" : "workspace",
                                  *path == "/" ? "host" : "workspace"));
    }
    const auto [at, added] = roots.emplace(*path, root);
    if (!added && at->second != root) {
      return Invalid(kField,
                     absl::StrFormat("\"%s\" is named twice with different access (the "
                                     "path is %s)",
                                     EscapeForDisplay(given.path), EscapeForDisplay(*path)));
    }
  }
  config.additional_roots.clear();
  for (auto& [path, root] : roots) config.additional_roots.push_back(std::move(root));
  return absl::OkStatus();
}

// A pattern below the workspace or absolute, where the symbolic links of the part without special
// characters are resolved: a rule on a link would never match.
absl::StatusOr<std::string> AbsolutePattern(const ProfileConfig& config, std::string_view field,
                                            const std::string& pattern, LinkResolver& links) {
  if (const absl::Status status = ValidateGlob(pattern); !status.ok()) {
    return Invalid(field, std::string(status.message()));
  }
  const std::string absolute = NormalizePath(
      pattern[0] == '/' ? pattern : EscapeGlob(config.workspace_root) + "/" + pattern);
  const std::size_t special = absolute.find_first_of("*?[");
  const std::size_t slash = absolute.rfind('/', special);
  if (slash == 0) return absolute;
  absl::StatusOr<std::string> folder = ResolvePath(field, absolute.substr(0, slash), links);
  if (!folder.ok()) return folder.status();
  return NormalizePath(EscapeGlob(*folder) + absolute.substr(slash));
}

absl::StatusOr<std::string> AbsoluteLiteral(const ProfileConfig& config, std::string_view field,
                                            const std::string& path, LinkResolver& links) {
  if (path.empty()) return Invalid(field, "an entry is empty");
  return ResolvePath(field, path[0] == '/' ? path : config.workspace_root + "/" + path, links);
}

// Leaves the globs in `entries`, absolute, and returns the literal paths.
absl::StatusOr<std::vector<std::string>> SplitDenies(const ProfileConfig& config,
                                                     std::string_view field,
                                                     std::vector<std::string>& entries) {
  std::vector<std::string> literals;
  std::vector<std::string> globs;
  LinkResolver links;
  for (const std::string& entry : entries) {
    absl::StatusOr<std::string> absolute = IsGlob(entry)
                                               ? AbsolutePattern(config, field, entry, links)
                                               : AbsoluteLiteral(config, field, entry, links);
    if (!absolute.ok()) return absolute.status();
    (IsGlob(entry) ? globs : literals).push_back(*std::move(absolute));
  }
  SortUnique(globs);
  SortUnique(literals);
  entries = std::move(globs);
  return literals;
}

absl::Status CanonicalizeDenies(ProfileConfig& config) {
  absl::StatusOr<std::vector<std::string>> unreadable =
      SplitDenies(config, "deny_read", config.deny_read);
  if (!unreadable.ok()) return unreadable.status();
  absl::StatusOr<std::vector<std::string>> unwritable =
      SplitDenies(config, "deny_write", config.deny_write);
  if (!unwritable.ok()) return unwritable.status();
  TreeNarrower tree(config);
  for (const std::string& path : *unreadable) tree.Narrow(path, Access::kDeny, Access::kDeny);
  if (unwritable->empty()) return absl::OkStatus();
  // A path that only loses writing keeps the access of reading that it has without this rule.
  const PathPolicy readable(LiteralRules(config), {});
  for (const std::string& path : *unwritable) {
    tree.Narrow(path, readable.Resolve(Axis::kRead, path).access, Access::kDeny);
  }
  return absl::OkStatus();
}

void SortRoots(ProfileConfig& config) {
  std::sort(config.additional_roots.begin(), config.additional_roots.end(),
            [](const AdditionalRoot& a, const AdditionalRoot& b) { return a.path < b.path; });
}

absl::Status CanonicalizeEnvironment(ProfileConfig& config) {
  SortUnique(config.environment);
  std::map<std::string_view, std::string_view> by_name;
  for (const std::string& entry : config.environment) {
    if (absl::Status status = ValidateVariable(entry); !status.ok()) return status;
    if (!by_name.emplace(VariableName(entry), entry).second) {
      return Invalid("environment", absl::StrFormat("\"%s\" is named twice with different values",
                                                    VariableName(entry)));
    }
  }
  return absl::OkStatus();
}

absl::Status CanonicalizeNetwork(ProfileConfig& config) {
  for (const std::string& text : config.network_targets) {
    const absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(text);
    if (!target.ok()) return Invalid("network_targets", std::string(target.status().message()));
  }
  config.network_targets = ReduceTargets(config.network_targets);
  SortUnique(config.loopback_ports);
  SortUnique(config.publish_ports);
  if (std::count(config.loopback_ports.begin(), config.loopback_ports.end(), 0) != 0) {
    return Invalid("loopback_ports", "0 is no port");
  }
  if (std::count(config.publish_ports.begin(), config.publish_ports.end(), 0) != 0) {
    return Invalid("publish_ports", "0 is no port");
  }
  for (std::string& path : config.unix_sockets) {
    if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos) {
      return Invalid("unix_sockets",
                     absl::StrFormat("\"%s\" is no absolute path", EscapeForDisplay(path)));
    }
    path = NormalizePath(path);
  }
  SortUnique(config.unix_sockets);
  return absl::OkStatus();
}

absl::Status CheckLimits(const Limits& limits) {
  const std::pair<std::string_view, std::optional<std::uint64_t>> counts[] = {
      {"limits.memory_bytes", limits.memory_bytes},
      {"limits.processes", limits.processes},
      {"limits.file_size_bytes", limits.file_size_bytes},
  };
  for (const auto& [name, value] : counts) {
    if (value == 0U) return Invalid(name, "must be more than 0, or absent");
  }
  if (limits.cpu_time.has_value() && limits.cpu_time->count() <= 0) {
    return Invalid("limits.cpu_time_ms", "must be more than 0, or absent");
  }
  return absl::OkStatus();
}

// Nothing is enforced on an unconfined command, so nothing may pretend to be denied.
absl::Status CheckUnconfined(const ProfileConfig& config) {
  if (config.isolation != Isolation::kUnconfined) return absl::OkStatus();
  if (!config.ack_unconfined.given()) {
    return Invalid("ack_unconfined", "unconfined isolation has to be acknowledged");
  }
  const std::pair<std::string_view, Access> fields[] = {
      {"workspace_read", config.workspace_read},
      {"workspace_write", config.workspace_write},
      {"host_read", config.host_read},
      {"host_write", config.host_write},
      {"network", config.network},
  };
  constexpr std::string_view kWhat = "must be allow when isolation is unconfined";
  for (const auto& [name, access] : fields) {
    if (access != Access::kAllow) return Invalid(name, kWhat);
  }
  for (const AdditionalRoot& root : config.additional_roots) {
    if (root.read != Access::kAllow || root.write != Access::kAllow) {
      return Invalid("additional_roots", kWhat);
    }
  }
  if (!config.deny_read.empty()) return Invalid("deny_read", "cannot hold without confinement");
  if (!config.deny_write.empty()) return Invalid("deny_write", "cannot hold without confinement");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProfileConfig> Canonicalize(ProfileConfig config) {
  absl::Status (*const steps[])(ProfileConfig&) = {
      [](ProfileConfig& c) { return CheckEnumerators(c); },
      [](ProfileConfig& c) { return CheckUnconfined(c); },
      ResolveWorkspace,
      ResolveHome,
      CanonicalizeRoots,
      CanonicalizeDenies,
      CanonicalizeEnvironment,
      CanonicalizeNetwork,
      [](ProfileConfig& c) { return CheckLimits(c.limits); },
  };
  for (const auto step : steps) {
    if (absl::Status status = step(config); !status.ok()) return status;
  }
  SortRoots(config);
  return config;
}

absl::Status ValidateVariable(std::string_view entry) {
  const std::string_view name = VariableName(entry);
  const bool is_name = !name.empty() && (name[0] < '0' || name[0] > '9') &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                                (c >= '0' && c <= '9') || c == '_';
                       });
  // The value may be a secret and stays out of the message.
  if (!is_name) {
    return Invalid("environment",
                   absl::StrFormat("\"%s\" is no name of a variable", EscapeForDisplay(name)));
  }
  if (entry.find('\0') != std::string_view::npos) {
    return Invalid("environment", absl::StrFormat("the value of %s has a NUL byte", name));
  }
  return absl::OkStatus();
}

std::string_view VariableName(std::string_view entry) { return entry.substr(0, entry.find('=')); }

std::vector<std::string> ReduceTargets(const std::vector<std::string>& targets) {
  std::vector<NetworkTarget> all;
  for (const std::string& text : targets) {
    if (absl::StatusOr<NetworkTarget> target = ParseNetworkTarget(text); target.ok()) {
      all.push_back(*std::move(target));
    }
  }
  SortUnique(all);
  std::vector<std::string> reduced;
  for (const NetworkTarget& target : all) {
    const bool covered = std::any_of(all.begin(), all.end(), [&target](const NetworkTarget& other) {
      if (other == target || !Covers(other, target)) return false;
      // A wider target may not reach every address in it: those that are not public must be named.
      return !target.is_address || other.host == target.host;
    });
    if (!covered) reduced.push_back(NetworkTargetText(target));
  }
  std::sort(reduced.begin(), reduced.end());
  return reduced;
}

}  // namespace cordon::internal
