// For tests: a small plan, and a command run in it to its end.

#ifndef CORDON_SANDBOX_SRC_SANDBOX_TESTING_H_
#define CORDON_SANDBOX_SRC_SANDBOX_TESTING_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launcher.h"
#include "plan.h"
#include "support/catch.h"

namespace cordon::internal::testing {

inline constexpr std::chrono::seconds kDeadline{20};

// A folder below TMPDIR that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Returns when the clock of files' times has gone on by so much, or after kDeadline.
void LetFileClockPass(std::int64_t nanoseconds);

[[nodiscard]] ViewOp Bind(const std::string& path, bool read_only);
[[nodiscard]] ViewOp Op(ViewOp::Kind kind, const std::string& target);

// The system's programs read-only, /proc, /dev and an empty /tmp; no Landlock, no seccomp.
[[nodiscard]] SandboxPlan SystemPlan();

[[nodiscard]] CommandPlan Shell(const std::string& text);

// Why this host can make no sandbox, or nothing. Tests skip with it: NEEDS_NAMESPACES.
[[nodiscard]] const std::string& WhyNoNamespaces();

struct Ran {
  absl::Status status;             // Of Spawn.
  std::string output;              // Standard output and error.
  std::vector<SpawnEvent> events;  // In their order.
  bool tree_ended = false;         // The pidfd became readable.

  // The exit code; -1 when it did not get that far.
  [[nodiscard]] int exit_code() const;
  // The event when the set-up failed, else null.
  [[nodiscard]] const SpawnEvent* failure() const;
};

[[nodiscard]] std::shared_ptr<Launcher> StartedLauncherOrFail();

// Waits for the end of the tree, at most kDeadline.
[[nodiscard]] Ran Run(Launcher& launcher, const SandboxPlan& plan, const CommandPlan& command,
                      const SpawnPlace& place);
[[nodiscard]] Ran Run(Launcher& launcher, const SandboxPlan& plan, const CommandPlan& command,
                      int network = -1);

// With a launcher of its own.
[[nodiscard]] Ran Run(const SandboxPlan& plan, const CommandPlan& command);
[[nodiscard]] Ran Run(const SandboxPlan& plan, const std::string& shell_text);

// Waits until `fd` is readable or hung up; false after kDeadline.
[[nodiscard]] bool WaitReadable(int fd);

// The events that arrive on `channel` until its other end is closed.
[[nodiscard]] std::vector<SpawnEvent> ReadEvents(int channel);

// What arrives on `fd` until its other end is closed.
[[nodiscard]] std::string ReadAll(int fd);

// The number that follows `NAME:` in a text like /proc/PID/status, without blanks; "" when absent.
[[nodiscard]] std::string Field(const std::string& text, const std::string& name);

}  // namespace cordon::internal::testing

#define NEEDS_NAMESPACES()                                                                     \
  if (const std::string& why = ::cordon::internal::testing::WhyNoNamespaces(); !why.empty()) { \
    CORDON_SKIP("userns", why);                                                                \
  }                                                                                            \
  static_assert(true)

#endif  // CORDON_SANDBOX_SRC_SANDBOX_TESTING_H_
