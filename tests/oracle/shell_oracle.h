// What real shells make of a text: the words of every simple command that runs. Nothing is ever
// executed but functions that record their arguments: there is no program in PATH, and the texts
// hold no name of a builtin.

#ifndef CORDON_TESTS_ORACLE_SHELL_ORACLE_H_
#define CORDON_TESTS_ORACLE_SHELL_ORACLE_H_

#include <set>
#include <string>
#include <vector>

namespace cordon::test {

using ShellWords = std::vector<std::string>;

struct ShellAnswer {
  // One entry per simple command that ran, in the order in which they were recorded.
  std::vector<ShellWords> commands;
  std::set<std::string> made;  // Names of files that are there afterwards and were not before.
};

struct OracleShell {
  std::string program;                  // An absolute path.
  std::vector<std::string> arguments;   // Before the script.
  bool names_unknown_commands = false;  // bash: also commands other than a, b and c are recorded.
};

// The commands `a`, `b` and `c` are known; files of these names are there. Each text runs in a
// folder and a process of its own. `status` is what every command returns. One answer per text;
// none when the shell could not be run.
[[nodiscard]] std::vector<ShellAnswer> AskShell(const OracleShell& shell,
                                                const std::vector<std::string>& texts, int status);

}  // namespace cordon::test

#endif  // CORDON_TESTS_ORACLE_SHELL_ORACLE_H_
