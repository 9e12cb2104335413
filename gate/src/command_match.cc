#include "command_match.h"

#include <algorithm>

#include "families.h"
#include "wrappers.h"

namespace cordon::internal {
namespace {

// Programs and builtins that run what their arguments or their input say.
constexpr std::string_view kRunners[] = {
    ".",       "alias",    "ash",     "at",      "awk",      "bash",     "batch",       "builtin",
    "bunx",    "busybox",  "bwrap",   "chroot",  "chrt",     "command",  "cpulimit",    "crontab",
    "csh",     "dash",     "docker",  "doas",    "ed",       "emacs",    "enable",      "env",
    "eval",    "ex",       "exec",    "expect",  "faketime", "firejail", "fish",        "flock",
    "gawk",    "gdb",      "hash",    "ionice",  "ksh",      "kubectl",  "less",        "linux32",
    "linux64", "ltrace",   "lua",     "m4",      "man",      "mawk",     "mksh",        "more",
    "nawk",    "nice",     "nohup",   "npx",     "nsenter",  "nvim",     "parallel",    "perf",
    "perl",    "pkexec",   "podman",  "posh",    "proot",    "rsync",    "ruby",        "runuser",
    "scp",     "script",   "setarch", "setpriv", "setsid",   "sftp",     "sg",          "sh",
    "source",  "ssh",      "stdbuf",  "strace",  "su",       "sudo",     "systemd-run", "taskset",
    "tclsh",   "tcsh",     "time",    "timeout", "toybox",   "trap",     "unbuffer",    "unshare",
    "uvx",     "valgrind", "vi",      "view",    "vim",      "watch",    "xargs",       "yash",
    "zsh"};

// Shells that agree about everything that `ReadShellText` reads. Whole paths: a program of that
// name somewhere else may be anything.
constexpr std::string_view kUnderstoodShells[] = {"/bin/bash",     "/bin/dash",     "/bin/sh",
                                                  "/usr/bin/bash", "/usr/bin/dash", "/usr/bin/sh"};

// Interpreters whose program may stand in an argument; `python3.11` counts as `python`.
constexpr std::string_view kInterpreters[] = {"bun", "deno", "node",  "nodejs",
                                              "php", "pypy", "python"};

std::string_view BaseName(std::string_view program) {
  const std::size_t slash = program.rfind('/');
  return slash == std::string_view::npos ? program : program.substr(slash + 1);
}

std::string_view WithoutVersion(std::string_view program) {
  const std::size_t last = program.find_last_not_of("0123456789.-");
  return last == std::string_view::npos ? program : program.substr(0, last + 1);
}

bool IsOneOf(absl::Span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsTokenChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.+-").find(c) != std::string_view::npos;
}

// Whether `name` stands in `text` as a word of its own.
bool Mentions(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !IsTokenChar(text[at - 1]);
    const std::size_t end = at + name.size();
    if (starts && (end == text.size() || !IsTokenChar(text[end]))) return true;
  }
  return false;
}

// `find` runs programs only with these; other words of it are harmless.
bool FindRunsOthers(const SimpleCommand& command) {
  return std::any_of(command.words.begin(), command.words.end(), [](const ShellWord& word) {
    return !word.exact || word.text.starts_with("-exec") || word.text.starts_with("-ok");
  });
}

// A script file is the project's; `-c`, `-e` and standard input are this command's own.
bool InterpretsArguments(const SimpleCommand& command) {
  if (command.words.size() == 1) return true;
  const ShellWord& first = command.words[1];
  if (!first.exact) return true;
  constexpr std::string_view kEvaluate[] = {"eval", "exec", "repl", "x"};
  if (IsOneOf(kEvaluate, first.text)) return true;
  return first.text.starts_with("-") && first.text != "-m" && first.text != "--version";
}

// Families whose words are data, besides those that only read.
constexpr std::string_view kDataFamilies[] = {"git add", "git commit", "mkdir", "touch"};

// A permitted use of a family that prints its arguments, opens them as files or records them: none
// of them is a program.
bool IsInert(const SimpleCommand& command) {
  std::vector<FamilyWord> words;
  for (const ShellWord& word : command.words) words.push_back({word.text, !word.exact});
  const auto& catalogue = FamilyCatalogue();
  return std::any_of(catalogue.begin(), catalogue.end(), [&words](const Family& family) {
    return (family.read_only || IsOneOf(kDataFamilies, family.name)) &&
           FamilyCovers(family.name, words);
  });
}

struct FamilyName {
  std::string_view program;
  std::string_view subcommand;  // May be empty.
};

FamilyName SplitFamily(std::string_view family) {
  const std::size_t space = family.find(' ');
  if (space == std::string_view::npos) return {family, {}};
  return {family.substr(0, space), family.substr(space + 1)};
}

FamilyFinding Might(std::string_view reason) { return {FamilyHit::kMight, std::string(reason)}; }

FamilyFinding FindSubcommand(const SimpleCommand& command, const FamilyName& family) {
  if (family.subcommand.empty()) return {FamilyHit::kYes, ""};
  if (command.words.size() < 2) return {};
  const ShellWord& second = command.words[1];
  if (!second.exact) return Might("an argument is only known when it runs");
  if (second.text == family.subcommand) return {FamilyHit::kYes, ""};
  const bool is_option = second.text.starts_with("-") || second.text.starts_with("+");
  if (is_option) return Might("options stand before the subcommand");
  return {};
}

// Whether the text sets variables for later commands, as in `x=rm; foo $x`.
bool SetsVariables(const ShellText& text) {
  return std::any_of(text.commands.begin(), text.commands.end(), [](const SimpleCommand& command) {
    return command.words.empty() && !command.assigned_names.empty();
  });
}

// Programs of which no option runs another.
constexpr std::string_view kNeverRunOthers[] = {
    "basename", "cat",  "cut",  "dirname", "echo",  "grep", "head", "ls", "mkdir",
    "printf",   "stat", "tail", "test",    "touch", "tr",   "wc",   "du", "uniq"};

// Families that do no more than read, whatever options they are given.
constexpr std::string_view kReadOnlyWithAnyOption[] = {
    "basename", "cat",     "cut",  "dirname", "du", "echo", "grep", "head",     "ls",
    "md5sum",   "sha1sum", "stat", "tail",    "wc", "cmp",  "tac",  "realpath", "sha256sum"};

bool HasUnknownArgument(const SimpleCommand& command) {
  return std::any_of(command.words.begin() + 1, command.words.end(),
                     [](const ShellWord& word) { return !word.exact && !word.glob; });
}

bool HasWordsFromInput(const SimpleCommand& command) {
  return std::any_of(command.words.begin(), command.words.end(),
                     [](const ShellWord& word) { return word.from_input; });
}

// Variables that change what a program prints or how much it checks, never what it runs or where it
// writes.
constexpr std::string_view kHarmlessVariables[] = {
    "CARGO_TERM_COLOR", "CI",       "CLICOLOR",         "COLUMNS",        "FORCE_COLOR",
    "GTEST_COLOR",      "LANG",     "LC_ALL",           "LC_COLLATE",     "LC_CTYPE",
    "LC_MESSAGES",      "NODE_ENV", "NO_COLOR",         "PYTHONHASHSEED", "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",   "RUST_LOG", "SOURCE_DATE_EPOCH"};

bool HasHarmlessVariables(const SimpleCommand& command) {
  return std::all_of(command.assigned_names.begin(), command.assigned_names.end(),
                     [](const std::string& name) { return IsOneOf(kHarmlessVariables, name); });
}

FamilyFinding FindInSimpleCommand(const SimpleCommand& command, const FamilyName& family,
                                  bool sets_variables);

// In what a wrapper runs. Variables reach it, and may make of it something else.
FamilyFinding FindInside(const ShellText& inner, const FamilyName& family, bool sets_variables) {
  FamilyFinding found;
  for (const SimpleCommand& command : inner.commands) {
    const bool has_variables = sets_variables || SetsVariables(inner) ||
                               !command.assigned_names.empty() || HasWordsFromInput(command);
    FamilyFinding here = FindInSimpleCommand(command, family, has_variables);
    if (here.hit == FamilyHit::kNo && !HasHarmlessVariables(command)) {
      here = Might("`" + command.wrappers.back() + "` runs it with other variables");
    }
    if (here.hit == FamilyHit::kYes) return here;
    if (here.hit == FamilyHit::kMight && found.hit == FamilyHit::kNo) found = std::move(here);
  }
  return found;
}

FamilyFinding FindInSimpleCommand(const SimpleCommand& command, const FamilyName& family,
                                  bool sets_variables) {
  if (command.words.empty()) return {};
  if (!command.words[0].exact) return Might("the program is only known when it runs");
  const std::string_view program = BaseName(command.words[0].text);
  if (program == family.program) return FindSubcommand(command, family);
  if (const std::optional<ShellText> inner = Unwrap(command)) {
    return FindInside(*inner, family, sets_variables);
  }
  if (RunsOthers(program)) return Might("`" + std::string(program) + "` runs other programs");
  if (program == "find" && FindRunsOthers(command)) return Might("`find` runs other programs");
  if (IsOneOf(kInterpreters, WithoutVersion(program)) && InterpretsArguments(command)) {
    return Might("`" + std::string(program) + "` runs a program from its arguments or input");
  }
  if (sets_variables && HasUnknownArgument(command) && !IsOneOf(kNeverRunOthers, program) &&
      !IsOneOf(kReadOnlyWithAnyOption, program)) {
    return Might("an argument is only known when it runs");
  }
  if (IsInert(command)) return {};
  const auto mentions = [&family](const ShellWord& word) {
    return Mentions(word.text, family.program);
  };
  if (std::any_of(command.words.begin() + 1, command.words.end(), mentions)) {
    return Might("an argument names it");
  }
  return {};
}

bool IsReadOnly(std::string_view family_name) {
  const Family* family = FindFamily(family_name);
  return family != nullptr && family->read_only;
}

// Whether the family reads the files that its operands name: then its input may be one as well.
bool ReadsFiles(std::string_view family_name) {
  const Family* family = FindFamily(family_name);
  return family != nullptr && family->read_only && family->max_operands > 0 &&
         !family_name.starts_with("git ");
}

bool IsHarmless(const Redirection& redirection, std::string_view family) {
  const ShellWord& target = redirection.target;
  switch (redirection.kind) {
    case Redirection::Kind::kDuplicate:
      return true;
    case Redirection::Kind::kOutput:
    case Redirection::Kind::kAppend:
      return target.exact && target.text == "/dev/null";
    case Redirection::Kind::kInput:
      if (!target.exact) return false;
      // Not by its whole path: bash makes connections of names below /dev.
      return target.text == "/dev/null" || (ReadsFiles(family) && IsBelow(target.text));
  }
  return false;
}

std::optional<std::vector<FamilyWord>> FamilyWords(const SimpleCommand& command) {
  std::vector<FamilyWord> words;
  for (const ShellWord& word : command.words) {
    if (!word.exact && !word.glob && !word.from_input) return std::nullopt;
    words.push_back({word.text, !word.exact});
  }
  if (words.empty() || words[0].is_operands || RunsOthers(BaseName(words[0].text))) {
    return std::nullopt;
  }
  return words;
}

// Whether the family may be given words that nobody knows: as operands behind `--`, or as options,
// too, where none of them does harm.
bool TakesWordsFromInput(const SimpleCommand& command, std::string_view family_name) {
  if (IsOneOf(kReadOnlyWithAnyOption, family_name)) return true;
  const Family* family = FindFamily(family_name);
  if (family == nullptr || family->after_dashes != AfterDashes::kOperands ||
      !family->refused_text.empty()) {
    return false;
  }
  const auto& words = command.words;
  const auto dashes = std::find_if(words.begin(), words.end(), [](const ShellWord& word) {
    return word.exact && word.text == "--";
  });
  return std::none_of(words.begin(), dashes, [](const ShellWord& word) { return word.from_input; });
}

// The first of `families` that covers `command`.
std::optional<std::size_t> CoveringFamily(const SimpleCommand& command,
                                          absl::Span<const std::string> families,
                                          const FamilyHolds& holds) {
  if (!HasHarmlessVariables(command)) return std::nullopt;
  const std::optional<std::vector<FamilyWord>> words = FamilyWords(command);
  if (!words.has_value()) return std::nullopt;
  const bool reads_words = HasWordsFromInput(command);
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (reads_words && !TakesWordsFromInput(command, families[i])) continue;
    const bool redirections_are_harmless =
        std::all_of(command.redirections.begin(), command.redirections.end(),
                    [&](const Redirection& r) { return IsHarmless(r, families[i]); });
    if (redirections_are_harmless && FamilyCovers(families[i], *words) &&
        (!holds || holds(i, command))) {
      return i;
    }
  }
  return std::nullopt;
}

// `cd` to a folder below: rules that hold there hold in it, and it does nothing else.
bool IsStepDown(const SimpleCommand& command) {
  return command.assigned_names.empty() && command.redirections.empty() &&
         command.words.size() == 2 && command.words[0].exact && command.words[0].text == "cd" &&
         command.words[1].exact && IsBelow(command.words[1].text);
}

}  // namespace

ShellText ReadCommand(const Command& command) {
  if (!HasKnownShell(command)) {
    ShellText opaque;
    opaque.opaque = true;
    opaque.opaque_reason = "it is for a shell that is not understood";
    return opaque;
  }
  if (command.form == Command::Form::kShell) return ReadShellText(command.shell_text);
  SimpleCommand simple;
  for (const std::string& word : command.argv) simple.words.push_back(ShellWord{word, true, true});
  ShellText text;
  text.commands.push_back(std::move(simple));
  text.joiners.push_back(Joiner::kEnd);
  return text;
}

bool HasKnownShell(const Command& command) {
  return command.form == Command::Form::kArgv || IsOneOf(kUnderstoodShells, command.shell);
}

bool RunsOthers(std::string_view program) {
  return IsOneOf(kRunners, program) || program.starts_with("ld-linux") ||
         program.starts_with("ld-musl");
}

FamilyFinding FindFamilyUse(const ShellText& text, std::string_view family) {
  if (text.opaque) return Might(text.opaque_reason);
  FamilyFinding found;
  const bool sets_variables = SetsVariables(text);
  for (const SimpleCommand& command : text.commands) {
    FamilyFinding here = FindInSimpleCommand(command, SplitFamily(family), sets_variables);
    if (here.hit == FamilyHit::kYes) return here;
    if (here.hit == FamilyHit::kMight && found.hit == FamilyHit::kNo) found = std::move(here);
  }
  return found;
}

std::optional<std::vector<std::string>> FoldersEntered(const ShellText& written) {
  const ShellText text = UnwrapAll(written);
  // A step may fail, or be undone at the end of a subshell: each may follow every earlier one.
  constexpr std::size_t kMaxFolders = 32;
  std::vector<std::string> folders = {"."};
  for (const SimpleCommand& command : text.commands) {
    if (!IsStepDown(command)) continue;
    const std::size_t known = folders.size();
    if (2 * known > kMaxFolders) return std::nullopt;
    for (std::size_t i = 0; i < known; ++i) {
      folders.push_back(folders[i] + "/" + command.words[1].text);
    }
  }
  return folders;
}

std::optional<std::vector<std::size_t>> CoverWithFamilies(const ShellText& written,
                                                          absl::Span<const std::string> families,
                                                          const FamilyHolds& holds) {
  if (written.opaque) return std::nullopt;
  const ShellText text = UnwrapAll(written);
  // Per simple command; nothing for a step down, which may not be piped.
  std::vector<std::optional<std::size_t>> covering;
  for (const SimpleCommand& command : text.commands) {
    covering.push_back(CoveringFamily(command, families, holds));
    if (!covering.back().has_value() && !IsStepDown(command)) return std::nullopt;
  }
  const auto is_read_only = [&](std::size_t command) {
    return covering[command].has_value() && IsReadOnly(families[*covering[command]]);
  };
  for (std::size_t i = 0; i < text.joiners.size(); ++i) {
    switch (text.joiners[i]) {
      case Joiner::kEnd:
      case Joiner::kAnd:
      case Joiner::kOr:
      case Joiner::kSequence:
        break;
      case Joiner::kPipe:
        if (is_read_only(i) && is_read_only(i + 1)) break;
        return std::nullopt;
      case Joiner::kPipeBoth:
      case Joiner::kBackground:
        return std::nullopt;
    }
  }
  std::vector<std::size_t> used;
  for (const std::optional<std::size_t>& family : covering) {
    if (family.has_value()) used.push_back(*family);
  }
  if (used.empty()) return std::nullopt;
  return used;
}

}  // namespace cordon::internal
