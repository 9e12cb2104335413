#include "git_repository.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/status/statusor.h"
#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"
#include "host_looks.h"

namespace cordon::internal {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxLinkBytes = 8192;

constexpr std::array<std::string_view, 5> kSensitive = {"hooks", "config", "config.worktree",
                                                        "commondir", "info/attributes"};
constexpr std::array<std::string_view, 2> kSensitiveInWorktree = {"config.worktree", "commondir"};

// What `git init`, `git clone`, `git submodule` and ordinary use of branches write. Nothing of it
// makes git run a program.
struct HarmlessVariable {
  std::string_view section;
  std::string_view name;  // Empty: every variable of the section.
};
constexpr std::array<HarmlessVariable, 19> kHarmless = {{
    {"core", "repositoryformatversion"},
    {"core", "filemode"},
    {"core", "bare"},
    {"core", "logallrefupdates"},
    {"core", "ignorecase"},
    {"core", "precomposeunicode"},
    {"core", "symlinks"},
    {"core", "autocrlf"},
    {"extensions", "objectformat"},
    {"extensions", "refstorage"},
    {"extensions", "partialclone"},
    {"remote", "url"},
    {"remote", "fetch"},
    {"remote", "promisor"},
    {"remote", "partialclonefilter"},
    {"remote", "tagopt"},
    {"branch", ""},
    {"user", ""},
    {"submodule", "active"},
}};

bool IsHarmless(const GitVariable& variable) {
  return std::any_of(kHarmless.begin(), kHarmless.end(), [&](const HarmlessVariable& known) {
    return variable.section == known.section && (known.name.empty() || variable.name == known.name);
  });
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  // What cannot be listed cannot be used by git either.
  (void)ListFolder(folder, [&](std::string_view name, NodeType) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

// The first line of a small file.
std::string ReadLine(const std::string& path) {
  std::string text = TextAt(path, kMaxLinkBytes);
  text.resize(std::min(text.size(), text.find('\n')));
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

// `text` as a path, relative ones from `folder`, with symbolic links resolved; empty on failure.
std::string ResolveFrom(const std::string& folder, const std::string& text) {
  if (text.empty()) return {};
  const absl::StatusOr<std::string> resolved =
      ResolveLinks(text[0] == '/' ? text : JoinPath(folder, text));
  return resolved.ok() ? NormalizePath(*resolved) : std::string();
}

bool BelongsToCallerOrRoot(const std::string& path) {
  const std::optional<uid_t> owner = OwnerAt(path);
  return owner.has_value() && (*owner == geteuid() || *owner == 0);
}

std::vector<GitVariable> ReadConfig(const std::string& git_directory) {
  std::vector<GitVariable> all;
  for (const char* name : {"config", "config.worktree"}) {
    for (GitVariable& variable :
         ParseGitConfig(TextAt(JoinPath(git_directory, name), kMaxConfigBytes))) {
      all.push_back(std::move(variable));
    }
  }
  return all;
}

// The folder in which git runs the hooks of `git_directory` (githooks(5)).
std::string HookFolder(const std::string& git_directory, const std::vector<GitVariable>& config) {
  for (const GitVariable& variable : config) {
    if (variable.section == "core" && variable.name == "worktree") {
      return ResolveFrom(git_directory, variable.value);
    }
  }
  return BaseName(git_directory) == ".git" ? ParentPath(git_directory) : git_directory;
}

}  // namespace

std::vector<std::string> SensitiveGitNames(const std::string& git_directory) {
  std::vector<std::string> names(kSensitive.begin(), kSensitive.end());
  for (const std::string& worktree : NamesIn(JoinPath(git_directory, "worktrees"))) {
    for (const std::string_view name : kSensitiveInWorktree) {
      names.push_back(JoinPath("worktrees/" + worktree, name));
    }
  }
  return names;
}

std::vector<std::string> ConfiguredGitPaths(const std::string& git_directory,
                                            std::string_view home) {
  const std::vector<GitVariable> config = ReadConfig(git_directory);
  std::vector<std::string> paths;
  for (const GitVariable& variable : config) {
    const bool is_hooks = variable.section == "core" && variable.name == "hookspath";
    const bool is_include = (variable.section == "include" || variable.section == "includeif") &&
                            variable.name == "path";
    if (!is_hooks && !is_include) continue;
    std::string text = variable.value;
    if (text.starts_with("~/")) text = JoinPath(home, std::string_view(text).substr(2));
    std::string path =
        ResolveFrom(is_hooks ? HookFolder(git_directory, config) : git_directory, text);
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::string GitDirectoryOf(const std::string& git_file) {
  constexpr std::string_view kPrefix = "gitdir: ";
  const NodeType type = TypeAt(git_file);
  if (type == NodeType::kSymlink) return ResolveFrom(ParentPath(git_file), git_file);
  const std::string line = ReadLine(git_file);
  if (!line.starts_with(kPrefix)) return {};
  return ResolveFrom(ParentPath(git_file), line.substr(kPrefix.size()));
}

std::optional<LinkedWorktree> FindLinkedWorktree(const std::string& folder) {
  const std::string git_file = JoinPath(folder, ".git");
  if (TypeAt(git_file) != NodeType::kFile) return std::nullopt;
  LinkedWorktree worktree;
  worktree.admin = GitDirectoryOf(git_file);
  if (worktree.admin.empty()) return std::nullopt;
  const std::string worktrees = ParentPath(worktree.admin);
  worktree.common = ParentPath(worktrees);
  if (BaseName(worktrees) != "worktrees" ||
      TypeAt(JoinPath(worktree.common, "objects")) != NodeType::kFolder ||
      ResolveFrom(worktree.admin, ReadLine(JoinPath(worktree.admin, "commondir"))) !=
          worktree.common ||
      ResolveFrom(worktree.admin, ReadLine(JoinPath(worktree.admin, "gitdir"))) != git_file ||
      !BelongsToCallerOrRoot(worktree.common) || !BelongsToCallerOrRoot(worktree.admin)) {
    return std::nullopt;
  }
  for (const char* name : {"HEAD", "index", "ORIG_HEAD", "FETCH_HEAD"}) {
    worktree.foreign.push_back(JoinPath(worktree.common, name));
  }
  worktree.foreign.push_back(JoinPath(worktree.admin, "gitdir"));
  for (const std::string& name : NamesIn(worktrees)) {
    std::string other = JoinPath(worktrees, name);
    if (other != worktree.admin) worktree.foreign.push_back(std::move(other));
  }
  return worktree;
}

std::vector<std::string> ArmedGitNames(const std::string& git_directory) {
  std::vector<std::string> armed;
  const std::string hooks = JoinPath(git_directory, "hooks");
  for (const std::string& name : NamesIn(hooks)) {
    if (!name.ends_with(".sample")) armed.push_back(JoinPath(hooks, name));
  }
  if (TypeAt(hooks) == NodeType::kSymlink) armed.push_back(hooks);
  for (const char* name : {"config", "config.worktree"}) {
    const std::string path = JoinPath(git_directory, name);
    const std::vector<GitVariable> config = ParseGitConfig(TextAt(path, kMaxConfigBytes));
    const bool harmless = std::all_of(config.begin(), config.end(), IsHarmless);
    if (!harmless || TypeAt(path) == NodeType::kSymlink) armed.push_back(path);
  }
  for (const char* name : {"commondir", "info/attributes"}) {
    std::string path = JoinPath(git_directory, name);
    if (TypeAt(path) != NodeType::kMissing) armed.push_back(std::move(path));
  }
  return armed;
}

}  // namespace cordon::internal
