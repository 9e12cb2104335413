// Whether a step succeeded and, if not, which one failed, how and on what.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_OUTCOME_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_OUTCOME_H_

#include "spawn_event.h"

namespace cordon::launcher {

using internal::Step;

struct [[nodiscard]] Outcome {
  int error = 0;  // errno; 0 when the step succeeded.
  Step step = Step::kNone;
  const char* detail = "";  // Lives as long as the plan.

  [[nodiscard]] bool ok() const { return error == 0; }
};

inline Outcome At(Step step, int error, const char* detail = "") {
  if (error == 0) return {};
  return {error, step, detail};
}

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_OUTCOME_H_
