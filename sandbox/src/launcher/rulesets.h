// Landlock rulesets that are made once for the commands of one plan that has no view.
//
// A ruleset says nothing about who uses it: each process that restricts itself by one has a domain
// of its own afterwards, with a copy of the rules (landlock_restrict_self(2)), so that signals and
// abstract sockets stay within each command. A rule is about an object, which the ruleset holds,
// and no longer about the path that led to it: a ruleset may be used only while the plan's paths
// lead to those objects, which the library sees to (plan_sources.h). No command ever has a
// descriptor of one.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_RULESETS_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_RULESETS_H_

#include <cstdint>

#include "launcher/fd.h"
#include "launcher/landlock.h"
#include "launcher/plan_reader.h"

namespace cordon::launcher {

// At most kMost, of which the one that was not used for longest makes room for another.
class Rulesets {
 public:
  // A pidfd of this program, which outlives this object.
  explicit Rulesets(const Fd& launcher) : launcher_(launcher) {}
  Rulesets(const Rulesets&) = delete;
  Rulesets& operator=(const Rulesets&) = delete;
  ~Rulesets() = default;

  // That of the plan, borrowed. Negative when there is none yet, in which case a process begins to
  // make it that nobody waits for, or when there cannot be one.
  [[nodiscard]] int For(std::uint32_t plan_id, const Plan& plan);
  void Forget(std::uint32_t plan_id);

  // Longer than a sandbox waits for a command: what it holds open is needed as long.
  static constexpr int kIdleSeconds = 120;
  [[nodiscard]] bool empty() const;
  void ForgetIdle();

 private:
  enum class State { kNone, kBeingMade, kReady, kRefused };
  static constexpr int kMost = 8;

  struct Slot {
    State state = State::kNone;
    std::uint32_t plan_id = 0;
    std::uint64_t used_at = 0;  // In microseconds.
    Fd answer;                  // What the process that makes it sends it on.
    Fd ruleset;
    HeldObjects held;
  };

  [[nodiscard]] Slot* Find(std::uint32_t plan_id);
  [[nodiscard]] Slot& Room();  // An empty one.
  void Begin(Slot& slot, const Plan& plan) const;
  static void LookForAnswer(Slot& slot);
  [[noreturn]] void Make(const Plan& plan, int answer) const;

  const Fd& launcher_;
  Slot slots_[kMost];
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_RULESETS_H_
