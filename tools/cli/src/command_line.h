// The frame of the command line: what `main` hands to each subcommand, and the one way to fail.

#ifndef CORDON_TOOLS_CLI_SRC_COMMAND_LINE_H_
#define CORDON_TOOLS_CLI_SRC_COMMAND_LINE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace cordon::cli {

// Exit statuses that are cordon's own (cli.md, "Exit status").
inline constexpr int kExitOutputLimit = 123;
inline constexpr int kExitTimedOut = 124;
inline constexpr int kExitNotStarted = 125;
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignalBase = 128;

// Filled while the arguments are parsed; `action` belongs to the subcommand that was named.
struct Invocation {
  bool has_separator = false;                // Whether there was a `--`.
  std::vector<std::string> after_separator;  // What followed it, untouched.
  std::function<int()> action;
};

// One function per subcommand and file: gives the subcommand what it takes. `invocation` outlives
// the parsing and the action.
void AddRunCommand(CLI::App& run, Invocation& invocation);
void AddWhyCommand(CLI::App& why, Invocation& invocation);
void AddProfileCommand(CLI::App& profile, Invocation& invocation);
void AddDoctorCommand(CLI::App& doctor, Invocation& invocation);
void AddRulesCommand(CLI::App& rules, Invocation& invocation);
void AddAuditCommand(CLI::App& audit, Invocation& invocation);
void AddMcpCommand(CLI::App& mcp, Invocation& invocation);
void AddProxyCommand(CLI::App& proxy, Invocation& invocation);

// One line on standard error: "cordon: MESSAGE". Line breaks and control characters are escaped.
void PrintError(std::string_view message);

// Ends this process with `status` at once: what was printed is flushed, and no destructor runs. For
// a subcommand that has closed what it opened, and would need longer to give up the rest piece by
// piece. In a sanitizer's build it returns the status instead.
int Leave(int status);

// Prints the status and returns kExitNotStarted.
int Fail(const absl::Status& status);

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_COMMAND_LINE_H_
