// Steps of the set-up that a test has fail, so that every environment can be shown on any host.

#ifndef CORDON_SANDBOX_SRC_SIMULATED_FAILURES_H_
#define CORDON_SANDBOX_SRC_SIMULATED_FAILURES_H_

#include <map>
#include <string_view>

#include "spawn_event.h"

namespace cordon::internal {

// Step and errno.
using SimulatedFailures = std::map<Step, int>;

// "STEP:ERRNO,...", with the names of `StepName` and errno as a number, e.g. "id
// maps:1,landlock:38". What is malformed makes everything fail, at the first step: a test that
// means to lower a tier must not run in a higher one.
[[nodiscard]] SimulatedFailures ParseSimulatedFailures(std::string_view text);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_SIMULATED_FAILURES_H_
