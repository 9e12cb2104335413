#include "protected_paths.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cordon/sdk/access.h"
#include "host_looks.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kGitRule = "git runs it or takes configuration from it";

bool IsBelowGit(std::string_view path) { return path.find("/.git/") != std::string_view::npos; }

// Whether a git directory is one that a person's git would find by itself or by way of `.git`.
bool IsReached(const std::string& git_directory) {
  return BaseName(git_directory) == ".git" || IsBelowGit(git_directory);
}

class Collector {
 public:
  Collector(const PathPolicy& paths, std::string_view home) : paths_(paths), home_(home) {}

  void AddPattern(const std::string& pattern) {
    const std::optional<std::string> path = LiteralOfGlob(pattern);
    if (path.has_value() && !IsBelowGit(*path)) Add(*path, pattern);
  }

  // `type` as the index found it.
  void AddFound(const std::string& path, NodeType type) {
    if (IsLifted(path) || !seen_.insert(path).second) return;
    result_.existing.push_back({path, type});
    if (type == NodeType::kSymlink) AddLinkTarget(path);
  }

  void AddGitDirectory(const std::string& directory) {
    if (!git_directories_.insert(directory).second) return;
    result_.pinned.push_back(directory);
    for (const std::string& name : SensitiveGitNames(directory)) {
      Add(JoinPath(directory, name), kGitRule);
    }
    for (const std::string& path : ConfiguredGitPaths(directory, home_)) Add(path, kGitRule);
  }

  // A file or link in the place of a git directory. What it leads to may lie outside of the roots;
  // then nothing there is shown that could be protected.
  void AddGitFile(const std::string& path) {
    Add(path, kGitRule);
    const std::string directory = GitDirectoryOf(path);
    if (!directory.empty() && TypeAt(directory) == NodeType::kFolder) {
      AddGitDirectory(directory);
    }
  }

  void Add(const std::string& path, std::string_view rule) {
    const NodeType type = TypeAt(path);
    if (type != NodeType::kMissing) {
      AddFound(path, type);
    } else if (!IsLifted(path) && seen_.insert(path).second) {
      result_.absent.push_back({path, std::string(rule)});
    }
  }

  ProtectedPaths Take() { return std::move(result_); }

 private:
  void AddLinkTarget(const std::string& path) {
    const absl::StatusOr<std::string> target = ResolveLinks(path);
    if (target.ok()) Add(*target, kGitRule);
  }

  // A rule of the profile that names the path itself takes the protection away.
  [[nodiscard]] bool IsLifted(const std::string& path) const {
    const std::vector<PathRule>& rules = paths_.rules();
    auto rule =
        std::lower_bound(rules.begin(), rules.end(), path,
                         [](const PathRule& a, const std::string& b) { return a.path < b; });
    for (; rule != rules.end() && rule->path == path; ++rule) {
      if (rule->write.has_value() && *rule->write == Access::kAllow) return true;
    }
    return false;
  }

  const PathPolicy& paths_;
  const std::string_view home_;
  std::set<std::string> seen_;
  std::set<std::string> git_directories_;
  ProtectedPaths result_;
};

}  // namespace

ProtectedPaths FindProtectedPaths(const PathPolicy& paths, const IndexContents& contents,
                                  const std::optional<LinkedWorktree>& linked,
                                  std::string_view home) {
  Collector collector(paths, home);
  bool protects = false;
  for (const GlobRule& rule : paths.globs()) {
    if (rule.effect != GlobRule::Effect::kProtect) continue;
    protects = true;
    collector.AddPattern(rule.pattern);
  }
  for (const IndexMatch& match : contents.matches) {
    if (paths.globs()[match.pattern].effect == GlobRule::Effect::kProtect) {
      collector.AddFound(match.path, match.type);
    }
  }
  for (const std::string& directory : contents.git_directories) {
    const bool is_linked = linked.has_value() && IsWithin(directory, linked->common);
    if (is_linked || (protects && IsReached(directory))) collector.AddGitDirectory(directory);
  }
  for (const std::string& file : contents.git_files) {
    if (protects) collector.AddGitFile(file);
  }
  return collector.Take();
}

std::vector<PathRule> LinkedWorktreeRules(const LinkedWorktree& linked, bool writable) {
  std::vector<PathRule> rules;
  const auto add = [&rules](const std::string& path, Access write) {
    rules.push_back({.path = path,
                     .shape = PathShape::kTree,
                     .read = Access::kAllow,
                     .execute = Access::kAllow,
                     .write = write,
                     .origin = "linked worktree"});
  };
  add(linked.common, writable ? Access::kAllow : Access::kDeny);
  for (const std::string& path : linked.foreign) {
    if (TypeAt(path) != NodeType::kMissing) add(path, Access::kDeny);
  }
  return rules;
}

std::optional<std::string> LiteralOfGlob(std::string_view pattern) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '*' || c == '?') return std::nullopt;
    if (c != '[') {
      path.push_back(c);
      continue;
    }
    const bool is_escape = i + 2 < pattern.size() && pattern[i + 2] == ']' &&
                           pattern[i + 1] != '!' && pattern[i + 1] != '^';
    if (!is_escape) return std::nullopt;
    path.push_back(pattern[i + 1]);
    i += 2;
  }
  return path;
}

std::vector<std::string> ArmedRepositories(const IndexContents& before,
                                           const IndexContents& after) {
  std::vector<std::string> armed;
  const auto arm = [&armed](const std::string& directory) {
    for (std::string& name : ArmedGitNames(directory)) armed.push_back(std::move(name));
  };
  for (const std::string& directory : after.git_directories) {
    const auto& known = before.git_directories;
    if (!std::binary_search(known.begin(), known.end(), directory)) arm(directory);
  }
  for (const std::string& file : after.git_files) {
    if (std::binary_search(before.git_files.begin(), before.git_files.end(), file)) continue;
    const std::string directory = GitDirectoryOf(file);
    const auto& all = after.git_directories;
    // A folder of `git worktree add`, made in a repository that is looked at by itself.
    const bool is_worktree = FindLinkedWorktree(ParentPath(file)).has_value();
    if (!is_worktree && !directory.empty() &&
        !std::binary_search(all.begin(), all.end(), directory)) {
      arm(directory);
    }
  }
  // Nobody can tell what is in it.
  std::set_difference(after.unlisted.begin(), after.unlisted.end(), before.unlisted.begin(),
                      before.unlisted.end(), std::back_inserter(armed));
  std::sort(armed.begin(), armed.end());
  armed.erase(std::unique(armed.begin(), armed.end()), armed.end());
  return armed;
}

}  // namespace cordon::internal
