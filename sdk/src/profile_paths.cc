#include "profile_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "cordon/sdk/path_identity.h"
#include "glob.h"

namespace cordon::internal {
namespace {

// Collects tree rules; a later rule for the same path takes the place of an earlier one.
class TreeRules {
 public:
  void Set(const std::string& path, Access read, Access write, std::string_view origin) {
    rules_[path] = {.path = path,
                    .shape = PathShape::kTree,
                    .read = read,
                    .execute = read,
                    .write = write,
                    .origin = std::string(origin)};
  }
  [[nodiscard]] std::vector<PathRule> Take() && {
    std::vector<PathRule> rules;
    for (auto& [path, rule] : rules_) rules.push_back(std::move(rule));
    return rules;
  }

 private:
  std::map<std::string, PathRule> rules_;
};

// A key may be a symbolic link into another folder: both names are denied.
void DenySecrets(const std::string& home, TreeRules& rules) {
  for (const std::string& path : SecretPaths(home)) {
    rules.Set(path, Access::kDeny, Access::kDeny, "secret");
    const absl::StatusOr<std::string> target = ResolveSymlinks(path);
    if (target.ok() && *target != path) rules.Set(*target, Access::kDeny, Access::kDeny, "secret");
  }
}

void AddHome(const ProfileConfig& config, TreeRules& rules) {
  // The home of system users; it is the host, and the host's fields speak of it.
  if (config.home_root == "/") return;
  switch (config.home) {
    case HomeMode::kIsolated:
      rules.Set(config.home_root, Access::kDeny, Access::kDeny, "home: isolated");
      return;
    case HomeMode::kReal:
      rules.Set(config.home_root, Access::kAllow, config.host_write, "home");
      DenySecrets(config.home_root, rules);
      return;
  }
}

void AddGlobs(const std::vector<std::string>& patterns, GlobRule::Effect effect,
              std::string_view origin, std::vector<GlobRule>& rules) {
  for (const std::string& pattern : patterns) {
    rules.push_back({.pattern = pattern, .effect = effect, .origin = std::string(origin)});
  }
}

}  // namespace

std::vector<PathRule> LiteralRules(const ProfileConfig& canonical) {
  TreeRules rules;
  if (canonical.isolation == Isolation::kUnconfined) {
    rules.Set("/", Access::kAllow, Access::kAllow, "unconfined");
    return std::move(rules).Take();
  }
  rules.Set("/", canonical.host_read, canonical.host_write, "host");
  if (canonical.host_read < Access::kAllow) {
    for (const std::string& path : SystemPaths()) {
      rules.Set(path, Access::kAllow, canonical.host_write, "system");
    }
  }
  AddHome(canonical, rules);
  rules.Set(canonical.workspace_root, canonical.workspace_read, canonical.workspace_write,
            "workspace");
  for (const AdditionalRoot& root : canonical.additional_roots) {
    rules.Set(root.path, root.read, root.write, "additional root");
  }
  return std::move(rules).Take();
}

std::vector<std::string> WritableRoots(const ProfileConfig& canonical) {
  std::vector<std::string> roots;
  if (canonical.isolation == Isolation::kUnconfined) return roots;
  if (canonical.host_write > Access::kDeny) roots.emplace_back("/");
  if (canonical.host_write > Access::kDeny && canonical.home == HomeMode::kReal &&
      canonical.home_root != "/") {
    roots.push_back(canonical.home_root);
  }
  if (canonical.workspace_write > Access::kDeny) roots.push_back(canonical.workspace_root);
  for (const AdditionalRoot& root : canonical.additional_roots) {
    if (root.write > Access::kDeny) roots.push_back(root.path);
  }
  return roots;
}

std::vector<GlobRule> ProtectRules(const ProfileConfig& canonical) {
  std::vector<GlobRule> rules;
  if (!canonical.protect_paths) return rules;
  const std::vector<std::string> roots = WritableRoots(canonical);
  std::set<std::string> patterns;
  for (const std::string& root : roots) {
    const bool nested = std::any_of(roots.begin(), roots.end(), [&root](const std::string& outer) {
      return outer != root && IsWithin(root, outer);
    });
    // What is looked for at any depth is found from the outer root already.
    const std::string any_depth = EscapeGlob(root) + "/**/";
    for (std::string& pattern : ProtectedPatterns(root)) {
      if (!nested || !pattern.starts_with(any_depth)) patterns.insert(std::move(pattern));
    }
  }
  AddGlobs({patterns.begin(), patterns.end()}, GlobRule::Effect::kProtect, "protect_paths", rules);
  return rules;
}

std::vector<GlobRule> DenyRules(const ProfileConfig& canonical) {
  std::vector<GlobRule> rules;
  AddGlobs(canonical.deny_read, GlobRule::Effect::kDenyRead, "deny_read", rules);
  AddGlobs(canonical.deny_write, GlobRule::Effect::kDenyWrite, "deny_write", rules);
  return rules;
}

PathPolicy BuildPathPolicy(const ProfileConfig& canonical) {
  std::vector<GlobRule> globs = DenyRules(canonical);
  for (GlobRule& rule : ProtectRules(canonical)) globs.push_back(std::move(rule));
  return {LiteralRules(canonical), std::move(globs)};
}

}  // namespace cordon::internal
