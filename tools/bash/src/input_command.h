// Input for a background job as an operation that can be shown, ruled on and granted: to an
// interpreter, a line is a command.

#ifndef CORDON_TOOLS_BASH_INPUT_COMMAND_H_
#define CORDON_TOOLS_BASH_INPUT_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cordon/bash/process_registry.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/executor.h"
#include "cordon/sdk/grant.h"

namespace cordon::internal {

// The command that stands for sending `text` to `job`: a here-document, which no rule sees through,
// for a program that does not exist. So no rule for another command allows it, a rule that denies a
// family of commands makes a person be asked, and different texts, jobs or ends never look alike.
[[nodiscard]] Command InputCommand(const JobInfo& job, std::string_view text, bool then_eof);

// Spends the grants for `command`, as an executor does before a start. Returns kPolicyDenied,
// kGrantRequired, or the errors of `GrantAuthority::Verify`.
[[nodiscard]] absl::Status SpendInputGrants(const Executor& executor, const Command& command,
                                            const std::string& execution_id,
                                            const std::vector<Grant>& grants);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_INPUT_COMMAND_H_
