// Runs a probe (probes/*.c) inside of a sandbox and, as the control, outside of it.

#ifndef CORDON_TESTS_ESCAPE_PROBE_RUN_H_
#define CORDON_TESTS_ESCAPE_PROBE_RUN_H_

#include <string>
#include <vector>

#include "integration/support/cordon_run.h"
#include "integration/support/ground.h"

namespace cordon::test {

// The one word that a probe printed, or "SIGSYS" and the like when a signal ended it.
[[nodiscard]] std::string ProbeInside(const Ground& ground, const Words& policy,
                                      const Words& probe);
// On the host as it is: only for what cannot harm it.
[[nodiscard]] std::string ProbeOutside(const Ground& ground, const Words& probe);
// With all rights of the caller, but for root in namespaces of its own that are thrown away: what
// mounts, signals or configures there does not touch the machine.
[[nodiscard]] std::string ProbeDisposable(const Ground& ground, const Words& probe);

// One attempt: what it must say inside, and what it says where nothing confines it.
struct Escape {
  Words probe;
  std::string inside;
  std::string outside = "done";
  // Whether only root could do it outside: for others the control says nothing.
  bool needs_root = false;
};

// The controls are run by `ProbeDisposable`.
void ExpectHeld(const Ground& ground, const Words& policy, const std::vector<Escape>& escapes);

}  // namespace cordon::test

#endif  // CORDON_TESTS_ESCAPE_PROBE_RUN_H_
