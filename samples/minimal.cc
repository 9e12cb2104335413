// The smallest program: one command with only the authority that is written here, and what the
// operating system really enforced.
#include <filesystem>
#include <iostream>

#include "cordon/sandbox/executor_set.h"

int main() {
  const std::string workspace = std::filesystem::current_path();

  cordon::ProfileConfig config;  // What is not named stays denied: writing, network, your home.
  config.workspace_root = workspace;
  config.workspace_read = cordon::Access::kAllow;
  config.command = cordon::Access::kAllow;
  const auto profile = cordon::Profile::Create(config).value();

  cordon::ExecutorSetOptions options;
  options.scratch_root = std::filesystem::temp_directory_path();
  options.max_executors = 1;
  const auto set = cordon::ExecutorSet::Create(profile, options).value();
  const auto executor = set->For("demo").value();

  const auto result = executor->RunArgv(workspace, {"printf", "hello\n"}).value();
  std::cout << result.standard_output.head << "exit code " << result.outcome.code.value()
            << ", level " << cordon::LevelName(executor->Level()) << '\n';
}
