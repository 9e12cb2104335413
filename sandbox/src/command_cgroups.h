// The cgroups of a set's commands: one below the delegated one for the set, and in that one for
// each command's whole tree. Nothing of them stays: what a killed program left is removed by its
// launcher, else by the next set below the same cgroup.

#ifndef CORDON_SANDBOX_SRC_COMMAND_CGROUPS_H_
#define CORDON_SANDBOX_SRC_COMMAND_CGROUPS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cordon/sdk/profile.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

class CommandCgroups;

// What the kernel counted for one tree.
struct TreeCount {
  bool out_of_memory = false;  // Something was killed, since memory.max was reached.
  std::optional<std::uint64_t> cpu_microseconds;
  std::optional<std::uint64_t> most_memory_bytes;  // Linux 5.19. Page cache counts.
};

// One command's. Destroying it ends what is left in it, and removes it.
class CommandCgroup {
 public:
  CommandCgroup(std::shared_ptr<CommandCgroups> all, std::string name, UniqueFd folder)
      : all_(std::move(all)), name_(std::move(name)), folder_(std::move(folder)) {}
  CommandCgroup(const CommandCgroup&) = delete;
  CommandCgroup& operator=(const CommandCgroup&) = delete;
  ~CommandCgroup();

  [[nodiscard]] int fd() const { return folder_.get(); }

  // Ends every process in it at once, forks that are under way included (cgroup.kill).
  void Kill() const;

  // Kills, and waits until nothing is left in it; false when that takes more than a second.
  [[nodiscard]] bool End() const;

  [[nodiscard]] TreeCount Count() const;

 private:
  const std::shared_ptr<CommandCgroups> all_;
  const std::string name_;
  const UniqueFd folder_;
};

// Safe from any thread.
class CommandCgroups : public std::enable_shared_from_this<CommandCgroups> {
 public:
  // Makes the set's cgroup in `delegated`, an absolute path, and removes those that dead programs
  // left there. `limits` holds for each command: its memory and processes. Returns kUnavailable,
  // naming the step, when this cannot be had.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<CommandCgroups>> Create(
      const std::string& delegated, const Limits& limits);

  CommandCgroups(const CommandCgroups&) = delete;
  CommandCgroups& operator=(const CommandCgroups&) = delete;
  ~CommandCgroups();  // Removes.

  // A new one, with its limits set.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<CommandCgroup>> Make();

  // The delegated cgroup, and the name of the set's in it.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int delegated() const { return delegated_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Ends what is left in all of them, and removes them. Idempotent; can be tried again after
  // kInternal, when something did not end within seconds.
  [[nodiscard]] absl::Status Remove();

 private:
  friend class CommandCgroup;

  CommandCgroups(std::string path, UniqueFd delegated, UniqueFd own, std::string name,
                 const Limits& limits);
  [[nodiscard]] absl::Status SetLimits(int folder) const;
  void Retire(const std::string& name);
  void RemoveRetiredLocked();

  const std::string path_;
  const UniqueFd delegated_;
  const UniqueFd own_;  // Locked (flock(2)) as long as this program or its launcher lives.
  const std::string name_;
  const Limits limits_;

  std::mutex mutex_;
  std::uint64_t made_ = 0;
  std::vector<std::string> retired_;  // Could not be removed yet.
  bool removed_ = false;
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_COMMAND_CGROUPS_H_
