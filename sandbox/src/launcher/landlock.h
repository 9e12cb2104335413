#ifndef CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_

#include "launcher/fd.h"
#include "launcher/outcome.h"
#include "launcher/plan_reader.h"
#include "launcher/view_roles.h"

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

// What can be done before the view is the root: a ruleset with the rules of the plan about places
// in `tree`, a copy of a template's, which no sandbox makes for itself.
[[nodiscard]] Outcome BeginRuleset(const Plan& plan, const ViewRole* roles, int tree, Fd* ruleset);

// A ruleset that there is before a command comes.
struct MadeRuleset {
  int descriptor = -1;              // Negative: there is none.
  const ViewRole* roles = nullptr;  // Of one that `BeginRuleset` made; else it is complete.
};

// Restricts this process for good by the rules of the plan and of the command (landlock(7)). Does
// nothing when the plan handles nothing. A complete ruleset is used for a command without rules of
// its own, and not changed.
[[nodiscard]] Outcome EnterLandlock(const Plan& plan, const Command& command,
                                    const MadeRuleset& made);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_LANDLOCK_H_
