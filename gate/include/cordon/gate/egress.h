// May a command that is running already connect there? A Gate's answer to an egress proxy
// (cordon/sdk/egress.h), from the same profile, rules, approver and log as everything else.

#ifndef CORDON_GATE_EGRESS_H_
#define CORDON_GATE_EGRESS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "cordon/sdk/egress.h"
#include "cordon/sdk/request.h"

namespace cordon {

struct EgressGateOptions {
  // Questions that may wait at a time, the one that is shown included; more are denied at once.
  std::size_t max_waiting = 32;
  // Different targets about which one execution may have a person asked; more are denied at once,
  // so that no command can tire a person out.
  std::size_t max_questions_per_execution = 16;
};

// Made by `Gate::MakeEgressGate`. Safe from any thread. Destroying it denies what still waits.
//
// `Decide` never waits. A Deny of the profile or of a rule wins over every earlier answer. What a
// person answered about one target, a timeout and the lack of a person included, holds for the rest
// of the execution: nobody is asked twice. "For this session" and "always" become rules, which hold
// in the directory of the command as those of other requests do. A rule with a number of uses is
// used once per execution and target.
//
// `DenialOf` knows the stored denials, those of a command's directory included; it also holds for
// executions that were not entered, for which every stored denial counts. It is not logged here: an
// egress proxy logs what it refuses and cuts.
//
// `Ask` puts the question on a thread of its own, in the order of the calls, and shares the turn of
// the Gate's other questions. Calls for one execution and target get one question. What a person
// approves is issued, verified and spent as a grant when the request has a binding.
//
// Each outcome is logged as "egress" once per execution, target and outcome; a log that is required
// and fails denies (`Decide`: kLogFailed).
class EgressGate : public EgressAuthorizer {
 public:
  // The request that was admitted for an execution, before its first connection: what a question
  // shows, where rules hold, what grants are bound to. An execution that was not entered, or left,
  // is denied everything. Returns kInvalidRequest without an execution id or for one that is there.
  [[nodiscard]] virtual absl::Status Enter(const Request& request) = 0;

  // The execution has ended: its questions are withdrawn and denied, its answers forgotten.
  virtual void Leave(const std::string& execution_id) = 0;
};

}  // namespace cordon

#endif  // CORDON_GATE_EGRESS_H_
