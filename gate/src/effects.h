// What a request will be able to do, in words for people: from its requirements and from what can
// be read in its text, never from the model's own description. Pure.

#ifndef CORDON_GATE_SRC_EFFECTS_H_
#define CORDON_GATE_SRC_EFFECTS_H_

#include <string>
#include <vector>

#include "cordon/sdk/request.h"

namespace cordon::internal {

// One line each, escaped, the gravest first. That a line is missing proves nothing: programs do
// what they like within the sandbox.
[[nodiscard]] std::vector<std::string> DescribeEffects(const Request& request,
                                                       const std::string& workspace_root);

// Whether the command redirects to or from the file under this very name, so that its text already
// says what `requirement` says.
[[nodiscard]] bool IsRedirectedAsSpelled(const Requirement& requirement, const Request& request);

}  // namespace cordon::internal

#endif  // CORDON_GATE_SRC_EFFECTS_H_
