#ifndef CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_

#include "launcher/fd.h"
#include "launcher/outcome.h"
#include "launcher/plan_reader.h"

namespace cordon::launcher {

// Objects of file systems that make a new inode for a name which was not used for a while, as
// procfs does: a rule about the old one would be none about the new one.
struct HeldObjects {
  static constexpr int kMost = 64;

  Fd all[kMost];
  int count = 0;
};

// Makes the ruleset of the plan alone. What is to be held for as long as it is used goes into
// `held`.
[[nodiscard]] Outcome MakeRuleset(const Plan& plan, HeldObjects* held, Fd* ruleset);

// Restricts this process for good by the rules of the plan and of the command (landlock(7)). Does
// nothing when the plan handles nothing. `ruleset` is that of the plan, for a command without rules
// of its own, or negative: it is made now.
[[nodiscard]] Outcome EnterLandlock(const Plan& plan, const Command& command, int ruleset);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_
