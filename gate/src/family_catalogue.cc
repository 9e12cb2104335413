// The data. Left out on purpose: options that name a program (`--ext-diff`, `--textconv`, `-exec`,
// `-toolexec`, `--pre`), a file to write (`--output`, `-o`, `-coverprofile`), another place to work
// in (`-C`, `-f`, `--manifest-path`) or configuration (`-c`, `--config`).

#include <algorithm>

#include "families.h"

namespace cordon::internal {
namespace {

bool TakeDigits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Up to the next `/`, without anything that could hide one.
bool TakeToSlash(std::string_view& text) {
  const std::size_t end = text.find_first_of("/\\\n[");
  if (end == std::string_view::npos || text[end] != '/') return false;
  text.remove_prefix(end + 1);
  return true;
}

// A line number, `$` or `/pattern/`. Nothing at all is no address, and no fault.
bool TakeSedAddress(std::string_view& text, bool& is_there) {
  is_there = TakeChar(text, '$') || TakeDigits(text);
  if (is_there || !TakeChar(text, '/')) return true;
  is_there = true;
  return TakeToSlash(text);
}

bool TakeSedCommand(std::string_view& text) {
  if (TakeChar(text, 'p') || TakeChar(text, 'd') || TakeChar(text, '=') || TakeChar(text, 'q')) {
    return true;
  }
  if (!TakeChar(text, 's') || !TakeChar(text, '/')) return false;
  if (!TakeToSlash(text) || !TakeToSlash(text)) return false;
  while (TakeChar(text, 'g') || TakeChar(text, 'p') || TakeChar(text, 'I')) continue;
  return true;
}

// `10,20p`, `/begin/,/end/p`, `s/a/b/g` and such, joined by `;`: they only print.
bool IsHarmlessSedScript(std::string_view script) {
  if (script.empty()) return false;
  while (true) {
    bool first = false;
    bool second = false;
    if (!TakeSedAddress(script, first)) return false;
    if (first && TakeChar(script, ',')) {
      (void)TakeChar(script, '+');
      if (!TakeSedAddress(script, second) || !second) return false;
    }
    if (!TakeSedCommand(script)) return false;
    if (script.empty()) return true;
    if (!TakeChar(script, ';')) return false;
    while (TakeChar(script, ' ')) continue;
  }
}

bool IsListing(std::string_view word) { return word == "list" || word == "show"; }
bool IsList(std::string_view word) { return word == "list"; }
bool IsDateFormat(std::string_view word) { return word.starts_with("+"); }

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

std::vector<Family> FileFamilies() {
  return {
      {.name = "find",
       .read_only = true,
       .short_flags = "LHP",
       .long_flags = {"-print",  "-print0", "-not",   "-o",        "-a",        "-or",
                      "-and",    "-prune",  "-empty", "-readable", "-writable", "-executable",
                      "-depth",  "-mount",  "-xdev",  "-ls",       "-daystart", "-follow",
                      "-nouser", "-true",   "-false", "-quit"},
       .long_values = {"-name",     "-iname",     "-path",   "-ipath",    "-wholename", "-regex",
                       "-iregex",   "-regextype", "-type",   "-maxdepth", "-mindepth",  "-size",
                       "-mtime",    "-mmin",      "-atime",  "-amin",     "-ctime",     "-cmin",
                       "-newer",    "-user",      "-group",  "-perm",     "-links",     "-inum",
                       "-samefile", "-lname",     "-printf", "-newermt"},
       .signed_values = true},
      // Scripts with other commands may write files and run programs.
      {.name = "sed",
       .read_only = true,
       .short_flags = "nErsuz",
       .long_flags = {"--quiet", "--silent", "--regexp-extended"},
       .min_operands = 1,
       .first_operand = IsHarmlessSedScript},
      {.name = "tree",
       .read_only = true,
       .short_flags = "adfhpstuDFC",
       .short_values = "LIP",
       .long_flags = {"--gitignore", "--dirsfirst", "--prune", "--noreport"}},
      {.name = "jq",
       .read_only = true,
       .short_flags = "rcnsSeCMaj",
       .long_flags = {"--raw-output", "--compact-output", "--sort-keys", "--exit-status", "--slurp",
                      "--tab"},
       .long_values = {"--indent"}},
      // A second operand would be written to.
      {.name = "uniq",
       .read_only = true,
       .short_flags = "cdDuiz",
       .short_values = "fsw",
       .long_flags = {"--count", "--repeated", "--unique", "--ignore-case"},
       .max_operands = 1},
      {.name = "xxd",
       .read_only = true,
       .short_flags = "pubi",
       .short_values = "lscg",
       .max_operands = 1},
      {.name = "nl", .read_only = true, .short_values = "bnswvd"},
      {.name = "column", .read_only = true, .short_flags = "t", .short_values = "sc"},
      {.name = "cmp", .read_only = true, .short_flags = "lsb", .short_values = "n"},
      {.name = "comm", .read_only = true, .short_flags = "123"},
      {.name = "join", .read_only = true, .short_values = "12tjo"},
      {.name = "paste", .read_only = true, .short_flags = "s", .short_values = "d"},
      {.name = "fold", .read_only = true, .short_flags = "s", .short_values = "w"},
      {.name = "tac", .read_only = true},
      {.name = "rev", .read_only = true},
      {.name = "od", .read_only = true, .short_flags = "cxbv", .short_values = "AtNjw"},
      {.name = "hexdump", .read_only = true, .short_flags = "Cv", .short_values = "ns"},
      {.name = "strings", .read_only = true, .short_flags = "a", .short_values = "n"},
      {.name = "file",
       .read_only = true,
       .short_flags = "biLh",
       .long_flags = {"--brief", "--mime-type", "--mime"}},
      {.name = "readlink", .read_only = true, .short_flags = "fenmqsvz"},
      {.name = "realpath",
       .read_only = true,
       .short_flags = "esmLPqz",
       .long_values = {"--relative-to", "--relative-base"}},
      {.name = "md5sum", .read_only = true, .short_flags = "bct", .long_flags = {"--check"}},
      {.name = "sha1sum", .read_only = true, .short_flags = "bct", .long_flags = {"--check"}},
      {.name = "sha256sum", .read_only = true, .short_flags = "bct", .long_flags = {"--check"}},
      {.name = "seq", .read_only = true, .short_flags = "w", .short_values = "s"},
      {.name = "printf", .read_only = true},
      {.name = "test",
       .read_only = true,
       .long_flags = {"-f", "-d", "-e", "-s", "-r", "-w", "-x", "-L", "-h", "-n", "-z", "-eq",
                      "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot"}},
      {.name = "date",
       .read_only = true,
       .short_flags = "uR",
       .short_values = "d",
       .short_attached = "I",
       .long_flags = {"--utc", "--iso-8601"},
       .long_values = {"--date", "--iso-8601"},
       .max_operands = 1,
       .first_operand = IsDateFormat},
      {.name = "id", .read_only = true, .short_flags = "ugGn"},
      {.name = "whoami", .read_only = true, .max_operands = 0},
      {.name = "uname", .read_only = true, .short_flags = "asnrvmpio", .max_operands = 0},
      {.name = "nproc", .read_only = true, .long_flags = {"--all"}, .max_operands = 0},
      {.name = "free", .read_only = true, .short_flags = "hmgb", .max_operands = 0},
      {.name = "uptime", .read_only = true, .short_flags = "ps", .max_operands = 0},
      {.name = "ps", .read_only = true, .short_flags = "aAefuxlw", .short_values = "opC"},
      {.name = "ls",
       .read_only = true,
       .short_flags = "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
       .long_flags = {"--all", "--almost-all", "--color", "--directory", "--human-readable",
                      "--recursive", "--reverse", "--classify", "--group-directories-first",
                      "--full-time"},
       .long_values = {"--color", "--sort", "--time-style"}},
      {.name = "cat",
       .read_only = true,
       .short_flags = "AbeEnstTuv",
       .long_flags = {"--number", "--show-all", "--squeeze-blank"}},
      {.name = "head",
       .read_only = true,
       .short_flags = "qvz",
       .short_values = "nc",
       .long_flags = {"--quiet", "--verbose"},
       .long_values = {"--lines", "--bytes"},
       .numbers = true},
      {.name = "tail",
       .read_only = true,
       .short_flags = "qvz",
       .short_values = "nc",
       .long_flags = {"--quiet", "--verbose"},
       .long_values = {"--lines", "--bytes"},
       .numbers = true},
      {.name = "wc",
       .read_only = true,
       .short_flags = "clmLw",
       .long_flags = {"--lines", "--words", "--bytes", "--chars"}},
      {.name = "grep",
       .read_only = true,
       .short_flags = "EFGPiwxzsvVhHnboqLlcTZaIrRUy",
       .short_values = "efABCmdD",
       .long_flags = {"--recursive", "--ignore-case", "--line-number", "--count",
                      "--files-with-matches", "--files-without-match", "--invert-match",
                      "--word-regexp", "--fixed-strings", "--extended-regexp", "--perl-regexp",
                      "--only-matching", "--no-filename", "--with-filename", "--color", "--quiet"},
       .long_values = {"--include", "--exclude", "--exclude-dir", "--color", "--context",
                       "--after-context", "--before-context", "--max-count", "--regexp"},
       .numbers = true},
      {.name = "rg",
       .read_only = true,
       .short_flags = "nilwFvcSsHNUuox",
       .short_values = "gtTABCme",
       .long_flags = {"--files", "--hidden", "--line-number", "--ignore-case",
                      "--files-with-matches", "--count", "--no-ignore", "--fixed-strings"},
       .long_values = {"--glob", "--type", "--context", "--max-count", "--color", "--max-depth"}},
      {.name = "sort",
       .read_only = true,
       .short_flags = "nrufbdgMhVRcCsz",
       .short_values = "kt",
       .long_flags = {"--numeric-sort", "--reverse", "--unique"}},
      {.name = "cut",
       .read_only = true,
       .short_flags = "sz",
       .short_values = "dfcb",
       .long_flags = {"--only-delimited"},
       .long_values = {"--delimiter", "--fields"}},
      {.name = "tr",
       .read_only = true,
       .short_flags = "cdst",
       .long_flags = {"--delete", "--squeeze-repeats"}},
      {.name = "diff",
       .read_only = true,
       .short_flags = "qrsuwbBiNaty",
       .short_values = "UC",
       .long_flags = {"--brief", "--recursive", "--unified"},
       .long_values = {"--color"}},
      {.name = "stat",
       .read_only = true,
       .short_flags = "Lft",
       .short_values = "c",
       .long_flags = {"--dereference", "--file-system"},
       .long_values = {"--format"}},
      {.name = "du",
       .read_only = true,
       .short_flags = "ahskmcxb",
       .short_values = "d",
       .long_flags = {"--all", "--human-readable", "--summarize"},
       .long_values = {"--max-depth"}},
      {.name = "df",
       .read_only = true,
       .short_flags = "ahTikm",
       .long_flags = {"--human-readable"}},
      {.name = "pwd", .read_only = true, .short_flags = "LP", .max_operands = 0},
      {.name = "echo", .read_only = true, .short_flags = "neE"},
      {.name = "true", .read_only = true},
      {.name = "false", .read_only = true},
      {.name = "which", .read_only = true, .short_flags = "a"},
      {.name = "basename", .read_only = true, .short_flags = "az", .short_values = "s"},
      {.name = "dirname", .read_only = true, .short_flags = "z"},
      {.name = "mkdir", .short_flags = "pv", .long_flags = {"--parents", "--verbose"}},
      {.name = "touch", .short_flags = "acm"},
  };
}

std::vector<Family> BuildFamilies() {
  const std::vector<std::string_view> cargo_flags = {
      "--release", "--all", "--workspace", "--all-targets", "--all-features", "--lib", "--bins",
      "--tests", "--examples", "--benches", "--no-default-features", "--no-run", "--no-fail-fast",
      "--doc", "--locked", "--offline", "--frozen", "--quiet", "--verbose",
      // Of the test program, after `--`.
      "--nocapture", "--ignored", "--include-ignored", "--exact"};
  const std::vector<std::string_view> cargo_values = {
      "--features", "--package", "--bin",   "--test",           "--example",      "--exclude",
      "--profile",  "--jobs",    "--color", "--message-format", "--test-threads", "--skip"};
  const auto cargo = [&](std::string_view name) {
    return Family{.name = name,
                  .short_flags = "qv",
                  .short_values = "pjF",
                  .long_flags = cargo_flags,
                  .long_values = cargo_values,
                  .after_dashes = AfterDashes::kChecked};
  };
  const std::vector<std::string_view> go_flags = {"-v",        "-x",        "-n",       "-a",
                                                  "-race",     "-short",    "-cover",   "-json",
                                                  "-failfast", "-trimpath", "-benchmem"};
  const std::vector<std::string_view> go_values = {
      "-run", "-skip", "-count", "-timeout",   "-parallel", "-cpu",
      "-p",   "-tags", "-bench", "-benchtime", "-shuffle",  "-covermode"};
  const auto go = [&](std::string_view name) {
    return Family{.name = name, .long_flags = go_flags, .long_values = go_values};
  };
  return {
      // An argument `NAME=VALUE` replaces a variable, SHELL and the compiler included.
      {.name = "make",
       .short_flags = "kBsniqwS",
       .short_attached = "jl",
       .short_folders = "C",
       .long_flags = {"--keep-going", "--silent", "--dry-run", "--always-make", "--question",
                      "--no-print-directory", "--trace"},
       .long_values = {"--jobs"},
       .long_folders = {"--directory"},
       .refused_text = "="},
      {.name = "ninja", .short_flags = "vn", .short_values = "jkl", .short_folders = "C"},
      // Of a folder that is configured already, or as a preset of the project says.
      {.name = "cmake",
       .short_values = "t",
       .short_attached = "j",
       .long_flags = {"--version", "--clean-first", "--verbose"},
       .long_values = {"--target", "--config", "--parallel", "--preset"},
       .long_folders = {"--build"},
       .max_operands = 0},
      {.name = "npm run",
       .short_flags = "s",
       .long_flags = {"--silent", "--if-present", "--workspaces"},
       .long_values = {"--workspace"},
       .max_operands = 1,
       .after_dashes = AfterDashes::kAnything},
      {.name = "yarn test", .after_dashes = AfterDashes::kAnything},
      {.name = "yarn build", .max_operands = 0},
      {.name = "yarn lint", .max_operands = 0},
      {.name = "pnpm test", .after_dashes = AfterDashes::kAnything},
      {.name = "pnpm run", .max_operands = 1, .after_dashes = AfterDashes::kAnything},
      {.name = "mvn test", .short_flags = "qBoe", .max_operands = 0},
      {.name = "gradle test",
       .short_flags = "qi",
       .long_flags = {"--info", "--offline", "--stacktrace", "--continue"},
       .long_values = {"--tests"},
       .max_operands = 0},
      {.name = "dotnet build",
       .short_values = "c",
       .long_flags = {"--no-restore", "--nologo"},
       .long_values = {"--configuration"},
       // An operand may be an option with a slash.
       .max_operands = 0},
      {.name = "dotnet test",
       .short_values = "c",
       .long_flags = {"--no-build", "--no-restore", "--nologo"},
       .long_values = {"--configuration", "--filter"},
       .max_operands = 0},
      {.name = "tsc",
       .short_folders = "p",
       .long_flags = {"--noEmit", "--pretty", "--strict", "--version"},
       .long_folders = {"--project"}},
      {.name = "eslint",
       .long_flags = {"--quiet", "--cache", "--version"},
       .long_values = {"--ext", "--max-warnings"}},
      {.name = "prettier",
       .read_only = true,
       .short_flags = "cl",
       .long_flags = {"--check", "--list-different"}},
      {.name = "ruff check",
       .short_flags = "q",
       .long_flags = {"--quiet", "--no-cache", "--statistics"},
       .long_values = {"--select", "--ignore", "--output-format"}},
      {.name = "mypy",
       .long_flags = {"--strict", "--ignore-missing-imports", "--show-error-codes", "--pretty"},
       .long_values = {"--python-version"},
       .refused_text = "@"},
      {.name = "flake8",
       .long_flags = {"--count", "--statistics", "--show-source"},
       .long_values = {"--max-line-length", "--select", "--ignore", "--extend-ignore"}},
      {.name = "gofmt", .read_only = true, .short_flags = "lds"},
      {.name = "clang-format",
       .read_only = true,
       .short_flags = "n",
       .long_flags = {"--dry-run", "--Werror", "-Werror", "--version"},
       .refused_text = "@"},
      {.name = "npm test",
       .short_flags = "s",
       .long_flags = {"--silent"},
       .after_dashes = AfterDashes::kAnything},
      {.name = "npm ci",
       .short_flags = "s",
       .long_flags = {"--silent", "--ignore-scripts", "--offline", "--no-audit", "--no-fund"},
       .max_operands = 0},
      {.name = "npm ls",
       .read_only = true,
       .short_flags = "a",
       .long_flags = {"--all", "--json", "--long"},
       .long_values = {"--depth"}},
      cargo("cargo build"),
      cargo("cargo check"),
      cargo("cargo test"),
      cargo("cargo clippy"),
      cargo("cargo doc"),
      cargo("cargo bench"),
      {.name = "cargo fmt",
       .short_flags = "qv",
       .long_flags = {"--all", "--check"},
       .max_operands = 0,
       .after_dashes = AfterDashes::kChecked},
      {.name = "cargo tree",
       .short_values = "pei",
       .long_flags = {"--workspace", "--duplicates"},
       .long_values = {"--depth", "--package", "--invert"}},
      go("go build"),
      go("go test"),
      go("go vet"),
      go("go fmt"),
      {.name = "go list",
       .long_flags = {"-m", "-json", "-deps", "-test", "-e"},
       .long_values = {"-f", "-tags"}},
      {.name = "go env", .read_only = true, .long_flags = {"-json"}},
      {.name = "go doc", .read_only = true, .short_flags = "u", .long_flags = {"-all", "-src"}},
      {.name = "go version", .read_only = true, .max_operands = 0},
      // pytest reads more options from `@FILE`.
      {.name = "pytest",
       .short_flags = "qvxsl",
       .short_values = "kmn",
       .short_attached = "r",
       .long_flags = {"--lf", "--ff", "--last-failed", "--failed-first", "--collect-only",
                      "--quiet", "--verbose", "--no-header", "--strict-markers", "--exitfirst"},
       .long_values = {"--maxfail", "--tb", "--durations", "--color"},
       .refused_text = "@"},
      {.name = "ctest",
       .short_flags = "VN",
       .short_values = "REL",
       .short_attached = "j",
       .long_flags = {"--output-on-failure", "--verbose", "--show-only"},
       .long_values = {"--timeout", "--parallel", "--repeat"},
       .long_folders = {"--test-dir"},
       .max_operands = 0},
  };
}

}  // namespace

const std::vector<Family>& FamilyCatalogue() {
  static const std::vector<Family> catalogue = [] {
    std::vector<Family> all = GitFamilies();
    for (auto* make : {FileFamilies, BuildFamilies}) {
      for (Family& family : make()) all.push_back(std::move(family));
    }
    return all;
  }();
  return catalogue;
}

}  // namespace cordon::internal
