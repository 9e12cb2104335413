// Keeps a command of the landlock tier from having more processes and threads than its limit, by
// counting them when it makes another one: above the limit the call fails with EAGAIN, as with
// RLIMIT_NPROC, which would count all processes of this user and does not bind root.
//
// Counting costs time in proportion to the tree, so it is done once for as many calls as there was
// room for when it was done last.

#ifndef CORDON_SANDBOX_SRC_FORK_LIMIT_H_
#define CORDON_SANDBOX_SRC_FORK_LIMIT_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "command_tree.h"
#include "observer.h"

namespace cordon::internal {

// Those that make a process or a thread.
[[nodiscard]] std::span<const char* const> ForkCalls();
[[nodiscard]] bool IsForkCall(int number);

class ForkLimit final : public CallHandler {
 public:
  ForkLimit(std::uint64_t most, std::shared_ptr<const CommandTree> tree)
      : most_(most), tree_(std::move(tree)) {}

  CallAnswer OnCall(const seccomp_notif& call, int listener) override;

 private:
  using Time = std::chrono::steady_clock::time_point;

  // Whether there can be one more; it counts from then on.
  [[nodiscard]] bool Admit(pid_t thread, Time now);
  // How many that were admitted may not be visible yet.
  [[nodiscard]] std::uint64_t CountUnderWay(Time now);

  const std::uint64_t most_;
  const std::shared_ptr<const CommandTree> tree_;
  std::uint64_t estimate_ = 1;       // Never less than there are, with those that are under way.
  std::map<pid_t, Time> under_way_;  // The last call of each thread that was admitted.
  Time full_until_ = {};
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_FORK_LIMIT_H_
