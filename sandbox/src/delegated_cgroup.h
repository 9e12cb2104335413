// Where the cgroups of commands may be made (cgroups(7), version 2): a cgroup that was delegated to
// this program, and in which no process is itself.
//
// A cgroup that gives controllers to those below it must have no processes ("no internal
// processes"), and systemd allows others to make cgroups only where it delegated that. So a program
// is never moved, and nothing is made where somebody else manages: the cgroup is named, or it is
// the one above this program's own, marked as delegated by whoever delegated it.

#ifndef CORDON_SANDBOX_SRC_DELEGATED_CGROUP_H_
#define CORDON_SANDBOX_SRC_DELEGATED_CGROUP_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cordon::internal {

// systemd's mark: the attribute user.delegate or trusted.delegate is "1" (org.systemd, CGROUP
// DELEGATION).
[[nodiscard]] bool IsMarkedDelegated(const std::string& cgroup);

// Where things are; another place for tests.
struct CgroupPlaces {
  std::string mount = "/sys/fs/cgroup";
  std::string own = "/proc/self/cgroup";
  absl::FunctionRef<bool(const std::string&)> is_delegated = IsMarkedDelegated;
};

// The cgroup of this program, as a path below the mount. Returns kUnavailable without version 2.
[[nodiscard]] absl::StatusOr<std::string> OwnCgroup(const CgroupPlaces& places = {});

// The name that says: the one in which this program was started is delegated to it, marked or not
// (a user's systemd marks none), and `LeaveDelegatedCgroup` has left it.
inline constexpr char kOwnDelegated[] = "own";

// `named`, or, when that is empty, the one above this program's own. Returns kUnavailable, naming
// what is missing, when it cannot hold limits on memory and processes, or has processes, or is not
// this user's to write.
[[nodiscard]] absl::StatusOr<std::string> FindDelegatedCgroup(const std::string& named,
                                                              const CgroupPlaces& places = {});

// When this process is the only one of a cgroup that was delegated, or is said to be: moves it into
// a new one below, "cordon", so that `FindDelegatedCgroup` finds this one. Anything else is left as
// it is.
void LeaveDelegatedCgroup(bool said_to_be, const CgroupPlaces& places = {});

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_DELEGATED_CGROUP_H_
