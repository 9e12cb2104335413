#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "command_line.h"
#include "cordon/sdk/command.h"
#include "values.h"

namespace cordon::cli {
namespace {

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// What CLI11 says, with the nearest option or subcommand where a word was not understood.
std::string Explain(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = &root;
  std::string command = "cordon";
  for (auto below = app->get_subcommands(); !below.empty(); below = app->get_subcommands()) {
    app = below.front();
    command += " " + app->get_name();
  }
  std::string message = error.what();
  const std::vector<std::string> rest = root.remaining(true);
  const int code = error.get_exit_code();
  const bool unknown_subcommand = code == static_cast<int>(CLI::ExitCodes::RequiredError);
  // The name of the error is that of the subcommand, its code says what it is.
  if (!rest.empty() &&
      (unknown_subcommand || code == static_cast<int>(CLI::ExitCodes::ExtrasError))) {
    const std::string& word = rest.front();
    message = absl::StrFormat("%s: not understood", word);
    const std::string near = NearestWord(word.substr(0, word.find('=')), OptionNames(*app));
    if (!near.empty()) message += absl::StrFormat(", did you mean %s?", near);
    if (!unknown_subcommand && word.front() != '-') message += "; a command comes after --";
  }
  return absl::StrFormat("%s; see %s --help", message, command);
}

// Everything after the first `--` is the command's, byte for byte, and never parsed.
std::vector<std::string> SplitAtSeparator(int argc, char** argv, Invocation& invocation) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  const auto separator = std::find(all.begin(), all.end(), "--");
  std::vector<std::string> before(all.begin(), separator);
  if (separator != all.end()) {
    invocation.has_separator = true;
    invocation.after_separator.assign(separator + 1, all.end());
  }
  std::reverse(before.begin(), before.end());  // CLI11 takes its arguments from the back.
  return before;
}

struct Subcommand {
  const char* name;
  const char* description;
  void (*add)(CLI::App& command, Invocation& invocation);
};

constexpr Subcommand kSubcommands[] = {
    {"run", "Run one command, confined", AddRunCommand},
    {"why", "Explain what the policy says, and which rule says it", AddWhyCommand},
    {"profile", "Check, show or describe profiles", AddProfileCommand},
    {"doctor", "Say what this host can enforce, and how to fix what is missing", AddDoctorCommand},
    {"rules", "List, add or remove stored approvals", AddRulesCommand},
    {"audit", "Read an audit log, or check its chain", AddAuditCommand},
    {"mcp", "Serve the Bash tool to an assistant (MCP on stdio)", AddMcpCommand},
    {"proxy", "An HTTP and SOCKS 5 proxy to named targets only, for programs outside a sandbox",
     AddProxyCommand},
};

// Making all options of all subcommands takes longer than everything else before the command, so
// that only those get theirs which the arguments name.
void AddCommands(CLI::App& root, const std::vector<std::string>& arguments,
                 Invocation& invocation) {
  for (const Subcommand& known : kSubcommands) {
    CLI::App* command = root.add_subcommand(known.name, known.description);
    const bool is_named =
        std::find(arguments.begin(), arguments.end(), known.name) != arguments.end();
    if (is_named) known.add(*command, invocation);
  }
}

int Main(int argc, char** argv) {
  CLI::App root("Runs shell commands with only the authority that was decided.", "cordon");
  root.set_version_flag("--version", "cordon " CORDON_VERSION);
  root.require_subcommand(1);
  root.footer("Example:\n  cordon run -w . -c 'make test'");

  Invocation invocation;
  std::vector<std::string> arguments = SplitAtSeparator(argc, argv, invocation);
  AddCommands(root, arguments, invocation);

  try {
    root.parse(arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    return root.exit(asked);
  } catch (const CLI::ParseError& error) {
    PrintError(Explain(root, error));
    return kExitNotStarted;
  }
  return invocation.action();
}

}  // namespace

void PrintError(std::string_view message) {
  std::fprintf(stderr, "cordon: %s\n", EscapeForDisplay(message).c_str());
}

int Leave(int status) {
#if !defined(CORDON_ADDRESS_SANITIZER) && !defined(CORDON_THREAD_SANITIZER)
  std::fflush(nullptr);
  ::_exit(status);
#endif
  return status;
}

int Fail(const absl::Status& status) {
  PrintError(std::string_view(status.message().data(), status.message().size()));
  return kExitNotStarted;
}

}  // namespace cordon::cli

int main(int argc, char** argv) {
  // The launcher is nobody's child any more once it runs; so that it is reaped here and not left to
  // a pid 1 that may never do it.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    return cordon::cli::Main(argc, argv);
  } catch (const std::exception& fault) {  // Out of memory; nothing of ours throws.
    cordon::cli::PrintError(fault.what());
    return cordon::cli::kExitNotStarted;
  }
}
