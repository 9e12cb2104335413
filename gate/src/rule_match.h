// What a list of rules says about one requirement.

#ifndef CORDON_GATE_SRC_RULE_MATCH_H_
#define CORDON_GATE_SRC_RULE_MATCH_H_

#include <chrono>
#include <vector>

#include "absl/types/span.h"
#include "cordon/gate/rules.h"
#include "cordon/sdk/request.h"
#include "program_path.h"

namespace cordon::internal {

// Denials are looked for first, among all rules; then what might hide one; then allows. `rules`
// that are used up or past their time at `now` do not count. `programs` finds the files of those
// that are bound to some.
[[nodiscard]] RuleDecision DecideByRules(absl::Span<const Rule> rules,
                                         const Requirement& requirement, const Request& request,
                                         std::chrono::system_clock::time_point now,
                                         const ProgramPath& programs);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_RULE_MATCH_H_
