// Why a command may have failed, where the sandbox can be the reason: what the command complained
// about, held against the profile. Pure; safe from any thread.

#ifndef CORDON_TOOLS_BASH_EXPLANATION_H_
#define CORDON_TOOLS_BASH_EXPLANATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/executor.h"
#include "cordon/sdk/profile.h"

namespace cordon::internal {

// One sentence per path that `standard_error` names beside a refusal and that neither `profile` nor
// one of `grants` allows, and one for a network that could not be reached under a profile without
// network. Each says the rule and how to ask for more. Also what to do instead where a program
// wanted a person: a password, an editor, a terminal. At most four; none for complaints that the
// profile cannot be the reason of. These are facts about the profile, not observations of the
// kernel: what was really refused and seen is in `RunResult::denials`.
[[nodiscard]] std::vector<std::string> ExplainComplaints(
    std::string_view standard_error, const Profile& profile,
    const std::vector<ConsumedGrant>& grants = {});

// How the model, or the person who started it, can have what `denial` refused.
[[nodiscard]] std::string HowToAllow(const Denial& denial, const Profile& profile);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_EXPLANATION_H_
