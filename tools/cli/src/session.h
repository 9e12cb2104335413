// What `run` and `mcp` have in common: the policy's executor and the gate in front of it.

#ifndef CORDON_TOOLS_CLI_SRC_SESSION_H_
#define CORDON_TOOLS_CLI_SRC_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/admission.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"
#include "cordon/sdk/log_sink.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/request.h"
#include "policy_options.h"

namespace CLI {
class App;
}

namespace cordon::cli {

// As typed.
struct SessionOptions {
  PolicyOptions policy;
  std::string gate;
  std::string rules;
  std::string backend;
  std::string audit;
  bool share_network = false;  // `ExecutorSetOptions::share_network`.
  bool explain = false;        // List refused paths.
  std::string audit_rotate;
  bool audit_sync = false;
  bool many_commands = false;  // Else sandboxes for more than one are not kept ready.
  bool late_proof = false;     // `ExecutorSetOptions::late_proof`.
  // Who is asked instead of a person at the terminal; may be null.
  std::shared_ptr<Approver> approver;
};

void AddSessionOptions(CLI::App& app, SessionOptions& options);

// `BuildProfile`, with the rule file and the audit log kept from being written to.
[[nodiscard]] absl::StatusOr<Profile> BuildSessionProfile(const SessionOptions& options);

// Whether a person can be asked: both the question and the answer need a terminal. The approver
// itself reads the terminal, never standard input.
[[nodiscard]] bool AtTerminal();

// The stored rules, none where there is no file yet: "always" makes it. Errors name --rules.
[[nodiscard]] absl::StatusOr<std::shared_ptr<RuleSet>> OpenSessionRules(
    const SessionOptions& options, const Profile& profile);

// To say that `path` did not exist: a mistyped name lifts denials.
[[nodiscard]] std::string MissingRulesText(const std::string& path);

// What the gate is asked for one command of the command line.
[[nodiscard]] Request CommandRequest(const Command& command, const std::string& execution_id,
                                     const Executor& executor);

// Where a command starts: `chdir` when given, else the current folder if it is inside the
// workspace, else the workspace. Returns kInvalidOption, naming -C, for a folder that is not there.
[[nodiscard]] absl::StatusOr<std::string> StartDirectory(const std::string& chdir,
                                                         const std::string& workspace_root);

// A folder for what is private to a session and no command may write to: isolated homes, the record
// of background jobs.
[[nodiscard]] std::string ScratchRoot(const Profile& profile);

// One executor, its gate, rules and log. Used by one thread, but for what the parts themselves
// allow.
class Session {
 public:
  // Every error names the option or the missing layer.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Session>> Open(const Profile& profile,
                                                                     const SessionOptions& options);

  virtual ~Session() = default;

  [[nodiscard]] virtual Executor& executor() = 0;
  [[nodiscard]] virtual std::shared_ptr<Executor> shared_executor() = 0;
  [[nodiscard]] virtual Admission& admission() = 0;
  [[nodiscard]] virtual LogSink* log() = 0;

  // Asks the gate for `command` and mints the grants that it needs.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Grant>> AdmitCommand(
      const Command& command, const std::string& execution_id) = 0;

  // What the report must say about the options: everything approved, addresses replaced.
  [[nodiscard]] virtual std::vector<ReportEntry> Entries() const = 0;

  virtual absl::Status Close() = 0;
};

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_SESSION_H_
