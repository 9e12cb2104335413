// The subcommands of git that are families.

#include "family_groups.h"

namespace cordon::internal {
namespace {

bool IsListing(std::string_view word) { return word == "list" || word == "show"; }
bool IsList(std::string_view word) { return word == "list"; }

std::vector<std::string_view> GitDiffFlags() {
  return {"--stat",
          "--shortstat",
          "--numstat",
          "--summary",
          "--name-only",
          "--name-status",
          "--patch",
          "--no-patch",
          "--raw",
          "--cached",
          "--staged",
          "--check",
          "--color",
          "--no-color",
          "--word-diff",
          "--ignore-all-space",
          "--ignore-space-change",
          "--ignore-blank-lines",
          "--no-ext-diff",
          "--no-textconv",
          "--no-renames",
          "--find-renames",
          "--minimal",
          "--patience",
          "--histogram",
          "--function-context",
          "--exit-code",
          "--quiet",
          "--text",
          "--full-index",
          "--merge-base"};
}

std::vector<std::string_view> GitLogFlags() {
  std::vector<std::string_view> flags = GitDiffFlags();
  for (const std::string_view flag :
       {"--oneline", "--graph", "--all", "--decorate", "--no-decorate", "--merges", "--no-merges",
        "--reverse", "--follow", "--first-parent", "--abbrev-commit", "--branches", "--tags",
        "--remotes", "--date-order", "--topo-order", "--left-right", "--cherry-pick"}) {
    flags.push_back(flag);
  }
  return flags;
}

const std::vector<std::string_view>& GitDiffValues() {
  static const std::vector<std::string_view> values = {"--unified", "--diff-filter", "--color",
                                                       "--abbrev",  "--stat",        "--word-diff"};
  return values;
}

const std::vector<std::string_view>& GitLogValues() {
  static const std::vector<std::string_view> values = {
      "--unified",   "--diff-filter", "--color",     "--abbrev",  "--stat",
      "--word-diff", "--author",      "--committer", "--since",   "--until",
      "--after",     "--before",      "--grep",      "--format",  "--pretty",
      "--date",      "--max-count",   "--skip",      "--decorate"};
  return values;
}

}  // namespace

std::vector<Family> GitFamilies() {
  // `%G` in a format has a signature checked by a configured program.
  constexpr std::string_view kSignature = "%G";
  return {
      {.name = "git status",
       .read_only = true,
       .short_flags = "sbvz",
       .short_attached = "u",
       .long_flags = {"--short", "--branch", "--porcelain", "--long", "--verbose", "--show-stash",
                      "--ignored", "--untracked-files", "--no-renames", "--ahead-behind",
                      "--no-ahead-behind", "-uno", "-unormal", "-uall"},
       .long_values = {"--porcelain", "--untracked-files", "--ignored", "--column"}},
      {.name = "git diff",
       .read_only = true,
       .short_flags = "pusRabwWz",
       .short_values = "U",
       .short_attached = "MC",
       .long_flags = GitDiffFlags(),
       .long_values = GitDiffValues()},
      {.name = "git log",
       .read_only = true,
       .short_flags = "pusiEFPwbz",
       .short_values = "nULGS",
       .short_attached = "MC",
       .long_flags = GitLogFlags(),
       .long_values = GitLogValues(),
       .numbers = true,
       .refused_text = kSignature},
      {.name = "git show",
       .read_only = true,
       .short_flags = "puswbz",
       .short_values = "U",
       .short_attached = "MC",
       .long_flags = GitLogFlags(),
       .long_values = GitLogValues(),
       .refused_text = kSignature},
      // Without operands and with these options it only lists.
      {.name = "git branch",
       .read_only = true,
       .short_flags = "arv",
       .long_flags = {"--list", "--all", "--remotes", "--show-current", "--verbose", "--no-color",
                      "-vv"},
       .max_operands = 0},
      {.name = "git rev-parse",
       .read_only = true,
       .long_flags = {"--show-toplevel", "--abbrev-ref", "--short", "--verify", "--git-dir",
                      "--is-inside-work-tree", "--show-prefix"}},
      {.name = "git blame",
       .read_only = true,
       .short_flags = "slewtfn",
       .short_values = "L",
       .long_flags = {"--date", "--porcelain"}},
      {.name = "git ls-files",
       .read_only = true,
       .short_flags = "cdmoistz",
       .long_flags = {"--cached", "--deleted", "--modified", "--others", "--exclude-standard",
                      "--stage"}},
      {.name = "git rev-list",
       .read_only = true,
       .short_values = "n",
       .long_flags = {"--count", "--all", "--no-merges", "--merges", "--left-right", "--reverse"},
       .long_values = {"--max-count", "--since", "--until", "--author"},
       .numbers = true},
      {.name = "git cat-file", .read_only = true, .short_flags = "pset"},
      {.name = "git describe",
       .read_only = true,
       .long_flags = {"--tags", "--always", "--dirty", "--long", "--all", "--exact-match"},
       .long_values = {"--abbrev", "--match"}},
      {.name = "git shortlog",
       .read_only = true,
       .short_flags = "sne",
       .long_flags = {"--summary", "--numbered", "--email", "--all"},
       .long_values = {"--since", "--until"}},
      {.name = "git reflog", .read_only = true, .numbers = true, .max_operands = 0},
      {.name = "git grep",
       .read_only = true,
       .short_flags = "inwlcvEFGPhHI",
       .short_values = "eABCm",
       .long_flags = {"--cached", "--untracked", "--count", "--name-only", "--ignore-case",
                      "--line-number", "--heading", "--break", "--show-function"},
       .long_values = {"--max-depth"}},
      {.name = "git ls-tree",
       .read_only = true,
       .short_flags = "rdtlz",
       .long_flags = {"--name-only", "--full-tree", "--long"}},
      {.name = "git merge-base",
       .read_only = true,
       .short_flags = "a",
       .long_flags = {"--is-ancestor", "--fork-point", "--octopus", "--all"}},
      {.name = "git check-ignore", .read_only = true, .short_flags = "vqn"},
      // Alone, or with an option first, it stashes.
      {.name = "git stash", .read_only = true, .min_operands = 1, .first_operand = IsListing},
      {.name = "git worktree",
       .read_only = true,
       .long_flags = {"--porcelain"},
       .max_operands = 1,
       .first_operand = IsList},
      {.name = "git remote",
       .read_only = true,
       .short_flags = "v",
       .long_flags = {"--verbose"},
       .max_operands = 0},
      {.name = "git tag",
       .read_only = true,
       .short_flags = "l",
       .short_attached = "n",
       .long_flags = {"--list"},
       .long_values = {"--sort", "--contains", "--points-at"},
       .max_operands = 0},
      // With one operand it prints a value, with two it sets one.
      {.name = "git config",
       .read_only = true,
       .short_flags = "l",
       .long_flags = {"--list", "--global", "--local", "--show-origin"},
       .long_values = {"--get", "--get-all"},
       .max_operands = 1,
       .refused_text = "="},
      {.name = "git commit",
       .short_flags = "aqvs",
       .short_values = "m",
       .long_flags = {"--all", "--amend", "--no-edit", "--allow-empty", "--quiet", "--signoff",
                      "--verbose", "--dry-run"},
       .long_values = {"--message", "--author", "--date"}},
      {.name = "git add",
       .short_flags = "Aunv",
       .long_flags = {"--all", "--update", "--dry-run", "--verbose"}},
  };
}

}  // namespace cordon::internal
