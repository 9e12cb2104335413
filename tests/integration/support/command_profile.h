// Profiles for `cordon run -p`: what the command line itself takes for a workspace, changed.

#ifndef CORDON_TESTS_INTEGRATION_SUPPORT_COMMAND_PROFILE_H_
#define CORDON_TESTS_INTEGRATION_SUPPORT_COMMAND_PROFILE_H_

#include <string>

#include "integration/support/ground.h"
#include "nlohmann/json.hpp"

namespace cordon::test {

// The profile of the ground's workspace, as `cordon profile show` prints it, with this access to
// commands. Fails the test when it cannot be had.
[[nodiscard]] nlohmann::json CommandProfileJson(const Ground& ground, const std::string& access);

// The same in a file beside the workspace; its path.
[[nodiscard]] std::string CommandProfile(const Ground& ground, const std::string& access);

}  // namespace cordon::test

#endif  // CORDON_TESTS_INTEGRATION_SUPPORT_COMMAND_PROFILE_H_
