// The variables a command starts with: built from a list of what may pass, never inherited.

#ifndef CORDON_SANDBOX_SRC_ENVIRONMENT_H_
#define CORDON_SANDBOX_SRC_ENVIRONMENT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/profile.h"

namespace cordon::internal {

using Variables = std::map<std::string, std::string, std::less<>>;

// This process's own. Not safe while another thread changes them (setenv(3)).
[[nodiscard]] Variables CallerVariables();

struct UserIdentity {
  std::string name;
  std::string home;
};

// The entry of the current user in passwd; the number as a name where there is none.
[[nodiscard]] UserIdentity CurrentUser();

// What differs between executors.
struct EnvironmentPaths {
  std::string home;
  std::string temporary;
  std::string cache;  // Empty: programs use their defaults below HOME.
};

// "NAME=VALUE", sorted. In rising order of precedence:
//   1. settings by which programs do not wait for a person: prompts off, pagers that pass through,
//      editors that fail;
//   2. the caller's values of `BaselineEnvironment`;
//   3. HOME, TMPDIR, the caches, USER, LOGNAME, SHELL and PATH. PATH is the caller's, cut down to
//      folders whose programs the profile lets run, and then the standard ones;
//   4. `environment` of the profile: the caller's value of each name, or the value given there.
[[nodiscard]] std::vector<std::string> BuildEnvironment(const Profile& profile,
                                                        const Variables& caller,
                                                        const UserIdentity& user,
                                                        const EnvironmentPaths& paths);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_ENVIRONMENT_H_
