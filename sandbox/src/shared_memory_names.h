// Shared memory and semaphores by name (shm_open(3), sem_open(3)) for a command of the landlock
// tier. The C library keeps them as files in /dev/shm, which is the host's and closed there; calls
// about a name directly in it are performed in a private folder instead (seccomp_unotify(2)).
//
// The path is read once. Everything is done by one name in a folder that only this object uses, and
// in which it alone makes files: no link, no device, nothing of the host's is ever in it. What it
// does not answer goes on, under Landlock, which refuses it.

#ifndef CORDON_SANDBOX_SRC_SHARED_MEMORY_NAMES_H_
#define CORDON_SANDBOX_SRC_SHARED_MEMORY_NAMES_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "caller.h"
#include "command_tree.h"
#include "cordon/sdk/unique_fd.h"
#include "name_call.h"
#include "observer.h"
#include "open_call.h"

namespace cordon::internal {

class SharedMemoryNames final : public CallHandler {
 public:
  // `folder` does not exist yet and lies where no command may look or write.
  SharedMemoryNames(std::string folder, std::shared_ptr<const CommandTree> tree)
      : folder_(std::move(folder)), tree_(std::move(tree)) {}
  SharedMemoryNames(const SharedMemoryNames&) = delete;
  SharedMemoryNames& operator=(const SharedMemoryNames&) = delete;
  ~SharedMemoryNames() override;  // Removes the folder.

  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

  // Of one command, at a time.
  static constexpr std::size_t kMostNames = 4096;

 private:
  [[nodiscard]] CallAnswer OnOpen(const Caller& caller);
  [[nodiscard]] CallAnswer OnName(const Caller& caller);
  // The caller's file mode mask; nothing when nothing is done for it.
  [[nodiscard]] std::optional<mode_t> MaskOf(const Caller& caller) const;
  [[nodiscard]] bool HoldFolder();
  [[nodiscard]] int Remove(const std::string& name);
  // `moves`: the first name goes away.
  [[nodiscard]] int Connect(const std::string& from, const std::string& to, bool moves);

  const std::string folder_;
  const std::shared_ptr<const CommandTree> tree_;
  UniqueFd held_;
  std::set<std::string> names_;
};

// The name of `path` directly in /dev/shm; empty when it is about something else.
[[nodiscard]] std::string_view SharedMemoryName(std::string_view path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SHARED_MEMORY_NAMES_H_
