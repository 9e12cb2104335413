// A registry of background jobs over a real sandbox.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_JOBS_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_JOBS_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cordon/bash/process_registry.h"
#include "integration/support/gated_sandbox.h"

namespace cordon::test {

inline constexpr std::string_view kOwner = "me";
inline constexpr std::size_t kMuch = std::size_t{1} << 20;

[[nodiscard]] std::chrono::steady_clock::time_point Soon();

// A sandbox whose profile allows commands, and a registry in a folder that no command reaches.
class Jobs {
 public:
  explicit Jobs(ProcessRegistryOptions options = {});

  void Open(ProcessRegistryOptions options = {});

  [[nodiscard]] std::string folder() const { return sandbox.ground().outside() + "/jobs"; }
  [[nodiscard]] const Ground& ground() const { return sandbox.ground(); }
  [[nodiscard]] Command Shell(const std::string& text) const;

  absl::StatusOr<JobInfo> TryStart(const std::string& text, JobOptions options = {},
                                   std::string_view owner = kOwner);
  // These fail the test when they cannot be had. The handle of the job:
  std::string Start(const std::string& text, JobOptions options = {},
                    std::string_view owner = kOwner);
  // The job once it has ended.
  [[nodiscard]] JobInfo Ended(const std::string& handle) const;
  // All its output.
  [[nodiscard]] std::string All(const std::string& handle) const;
  // Waits until the job has written `text`.
  [[nodiscard]] bool Writes(const std::string& handle, std::string_view text) const;

  GatedSandbox sandbox{[](ProfileConfig& config) { config.command = Access::kAllow; }};
  std::unique_ptr<ProcessRegistry> registry;
};

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_JOBS_H_
