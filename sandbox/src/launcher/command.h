// The command itself: the child of the sandbox's first process that becomes it.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_

#include <cstdint>

#include "launcher/latch.h"
#include "launcher/outcome.h"
#include "launcher/spawn.h"

namespace cordon::launcher {

struct StartedCommand {
  Outcome outcome;
  int pid = 0;
  std::uint64_t started_microseconds = 0;
};

// What the first process does while the command's, its child, confines itself. If one of them
// fails nothing runs.
struct CallersPart {
  Outcome (*enter_view)(const Spawn&);  // The child opens nothing before that.
  Outcome (*finish)(const Spawn&);      // Nothing that is not ours runs before that.
};

// Starts it. The child shares this program's memory until it executes the command, so only one at a
// time, and this object stays where it is.
class CommandStart {
 public:
  // `spawn` outlives this object.
  explicit CommandStart(Spawn& spawn) : spawn_(spawn) {}
  CommandStart(const CommandStart&) = delete;
  CommandStart& operator=(const CommandStart&) = delete;
  ~CommandStart() = default;

  // Makes the child and does the caller's part. Without a command the child waits for one then
  // (ready.h).
  void Begin(const CallersPart& part);
  // Returns once the command runs, or a step on the way has failed. Needs no descriptor.
  [[nodiscard]] StartedCommand Await();
  // Instead of `Await`: ends the child, whatever it has become.
  void Kill() const;

 private:
  static void RunChild(void* argument);
  [[nodiscard]] Outcome Confine();
  [[nodiscard]] int EnterSession() const;  // With the command's umask(2).
  [[nodiscard]] Outcome WaitForCommand();
  [[nodiscard]] Outcome BecomeCommand();
  [[nodiscard]] bool IsToBeObserved() const;
  [[nodiscard]] int EnterObservationAt(int lowest);
  [[nodiscard]] int EnterObservationEarly();
  [[nodiscard]] int GiveListenerAway();
  [[nodiscard]] int MoveDescriptors();
  [[nodiscard]] int HandOverListener(int channel);
  void AwaitCaller(const Latch& latch) const;

  // Of both processes: they have the same memory, but not the same descriptors, so nothing in here
  // owns one.
  Spawn& spawn_;
  long child_ = 0;
  Outcome own_;
  StartedCommand result_;  // The child's.
  Latch in_view_;          // Both opened by the caller.
  Latch finished_;
  bool has_failed_ = false;  // In what opens one of them.
  Latch gone_;               // Opened by the kernel.
  long listener_ = -ENOSYS;  // The child's, once it is observed, or a negated errno.
};

// Takes all rights from the calling process, for good, unless the plan confines nobody.
[[nodiscard]] Outcome GiveUpPrivileges(const Spawn& spawn);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_COMMAND_H_
