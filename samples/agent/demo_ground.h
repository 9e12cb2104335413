// The ground on which the demo plays: one temporary folder with a small C project under git that
// has a bug, and a made-up home folder with a planted SSH key. Removed at the end.

#ifndef CORDON_SAMPLES_AGENT_DEMO_GROUND_H_
#define CORDON_SAMPLES_AGENT_DEMO_GROUND_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace cordon::agent {

// What a shell on the host did, without any sandbox: for laying things out, and to show that what
// the sandbox refuses is possible without it.
struct HostResult {
  int exit_code = 0;
  std::string output;  // Both streams.
};
[[nodiscard]] HostResult RunOnHost(const std::string& shell_text);

class DemoGround {
 public:
  // `port` is named in the project's instructions for assistants. Returns kInternal, with the
  // output of what failed.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<DemoGround>> Create(std::uint16_t port);
  ~DemoGround();
  DemoGround(const DemoGround&) = delete;
  DemoGround& operator=(const DemoGround&) = delete;

  [[nodiscard]] std::filesystem::path project() const { return root_ / "project"; }
  [[nodiscard]] std::filesystem::path home() const { return root_ / "home"; }
  [[nodiscard]] std::filesystem::path scratch() const { return root_ / "scratch"; }
  [[nodiscard]] std::filesystem::path ssh_key() const { return home() / ".ssh" / "id_demo"; }
  [[nodiscard]] std::filesystem::path shell_start_file() const { return home() / ".bashrc"; }

  // What only someone who read the key can know.
  [[nodiscard]] const std::string& secret() const { return secret_; }

  // Puts the start-up file back after it was shown that anyone can change it.
  void RestoreShellStartFile() const;
  [[nodiscard]] bool ShellStartFileIsIntact() const;

 private:
  DemoGround(std::filesystem::path root, std::string secret)
      : root_(std::move(root)), secret_(std::move(secret)) {}

  const std::filesystem::path root_;
  const std::string secret_;
};

}  // namespace cordon::agent

#endif  // CORDON_SAMPLES_AGENT_DEMO_GROUND_H_
