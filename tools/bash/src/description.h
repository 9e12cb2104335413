// What the Bash tool says about itself to a model: facts of the profile it runs under.

#ifndef CORDON_TOOLS_BASH_DESCRIPTION_H_
#define CORDON_TOOLS_BASH_DESCRIPTION_H_

#include <string>

#include "cordon/bash/bash_tool.h"
#include "cordon/sdk/profile.h"

namespace cordon::internal {

// `options.shell` is set; `start_directory` is where a command without `workdir` starts.
[[nodiscard]] std::string DescribeBashTool(const Profile& profile, const BashToolOptions& options,
                                           const std::string& start_directory);

}  // namespace cordon::internal

#endif  // CORDON_TOOLS_BASH_DESCRIPTION_H_
