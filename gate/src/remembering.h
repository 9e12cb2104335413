// The rules that an approval would store.

#ifndef CORDON_GATE_SRC_REMEMBERING_H_
#define CORDON_GATE_SRC_REMEMBERING_H_

#include <string>
#include <vector>

#include "cordon/gate/rules.h"
#include "cordon/sdk/request.h"

namespace cordon::internal {

struct RememberedForm {
  std::string name;  // For people.
  std::vector<Rule> rules;
};

// What an approval may store. First one rule per requirement of `pending`, as narrow as it can be:
// the exact command in its directory with `programs`; the exact target or path below
// `workspace_root`. Then the same for some hours, and where there is one a wider form: the families
// that the command consists of, the domain of a target. Empty when one requirement cannot be
// remembered, such as the whole host or a command for an unknown shell.
[[nodiscard]] std::vector<RememberedForm> FormsToRemember(const std::vector<Requirement>& pending,
                                                          const Request& request,
                                                          const std::string& workspace_root,
                                                          const std::vector<RuleProgram>& programs);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_REMEMBERING_H_
