// The data. Left out on purpose: options that name a program (`--ext-diff`, `--textconv`, `-exec`,
// `-toolexec`, `--pre`), a file to write (`--output`, `-o`, `-coverprofile`), another place to work
// in (`-C`, `-f`, `--manifest-path`) or configuration (`-c`, `--config`).

#include "families.h"

namespace cordon::internal {
namespace {

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
       .operands = false},
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
      {.name = "git add",
       .short_flags = "Aunv",
       .long_flags = {"--all", "--update", "--dry-run", "--verbose"}},
  };
}

std::vector<Family> FileFamilies() {
  return {
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
      {.name = "pwd", .read_only = true, .short_flags = "LP", .operands = false},
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
       .long_flags = {"--keep-going", "--silent", "--dry-run", "--always-make", "--question",
                      "--no-print-directory", "--trace"},
       .long_values = {"--jobs"},
       .refused_text = "="},
      {.name = "npm test",
       .short_flags = "s",
       .long_flags = {"--silent"},
       .after_dashes = AfterDashes::kAnything},
      {.name = "npm ci",
       .short_flags = "s",
       .long_flags = {"--silent", "--ignore-scripts", "--offline", "--no-audit", "--no-fund"},
       .operands = false},
      {.name = "npm ls",
       .read_only = true,
       .short_flags = "a",
       .long_flags = {"--all", "--json", "--long"},
       .long_values = {"--depth"}},
      cargo("cargo build"),
      cargo("cargo check"),
      cargo("cargo test"),
      cargo("cargo clippy"),
      go("go build"),
      go("go test"),
      go("go vet"),
      {.name = "go version", .read_only = true, .operands = false},
      // pytest reads more options from `@FILE`.
      {.name = "pytest",
       .short_flags = "qvxsl",
       .short_values = "km",
       .long_flags = {"--lf", "--ff", "--last-failed", "--failed-first", "--collect-only",
                      "--quiet", "--verbose", "--no-header", "--strict-markers"},
       .long_values = {"--maxfail", "--tb", "--durations", "--color"},
       .refused_text = "@"},
      {.name = "ctest",
       .short_flags = "VN",
       .short_values = "REL",
       .short_attached = "j",
       .long_flags = {"--output-on-failure", "--verbose", "--show-only"},
       .long_values = {"--timeout", "--parallel", "--repeat"},
       .operands = false},
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
