#include "landlock_abi.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cordon::internal {

int QueryLandlockAbi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, kLandlockCreateRulesetVersion);
  return abi < 0 ? 0 : static_cast<int>(std::min<long>(abi, kLandlockNewestKnownAbi));
}

int LandlockError() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, kLandlockCreateRulesetVersion) < 0 ? errno
                                                                                             : 0;
}

}  // namespace cordon::internal
