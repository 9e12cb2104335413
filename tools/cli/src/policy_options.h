// The options that describe a policy, shared by `run`, `why`, `profile show` and `mcp`, and their
// meaning as a profile.

#ifndef CORDON_TOOLS_CLI_SRC_POLICY_OPTIONS_H_
#define CORDON_TOOLS_CLI_SRC_POLICY_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/profile.h"

namespace CLI {
class App;
}

namespace cordon::cli {

// As typed. Empty text means that the option was not given.
struct PolicyOptions {
  std::string workspace;
  std::string profile;
  std::string preset;
  bool preset_given = false;
  std::string ceiling;
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> deny_read;
  std::vector<std::string> deny_write;
  std::vector<std::string> net;
  bool net_any = false;
  std::vector<std::string> resolve;
  std::vector<std::string> host_port;
  std::vector<std::string> publish;
  std::vector<std::string> unix_socket;
  std::vector<std::string> env;
  std::string home;
  std::string memory;
  std::string pids;
  std::string cpu_time;
  std::string file_size;
  std::vector<std::string> require;
};

// Adds the options to `app`; `options` must outlive the parsing.
void AddPolicyOptions(CLI::App& app, PolicyOptions& options);

// The profile that the options describe: the file or the preset, the other options laid over it,
// and then the ceiling. Every error names the option.
[[nodiscard]] absl::StatusOr<Profile> BuildProfile(const PolicyOptions& options);

}  // namespace cordon::cli

#endif  // CORDON_TOOLS_CLI_SRC_POLICY_OPTIONS_H_
