// From a policy to a plan: which parts of the host the mount view shows, and how.

#ifndef CORDON_SANDBOX_SRC_VIEW_H_
#define CORDON_SANDBOX_SRC_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "plan.h"

namespace cordon::internal {

// The private folders of one executor on the host's disk.
struct ScratchFolders {
  std::string home;  // Bound at the same path, or at the real home for HomeMode::kReal is not used.
  std::string temporary;  // Bound at /tmp; TMPDIR.
  std::string cache;      // XDG_CACHE_HOME and the caches of build tools.
};

// Protected or denied names that did not exist when the plan was made and cannot be mounted over:
// created inside, they are removed after the run and reported.
struct AbsentName {
  std::string path;
  std::string rule;
};

struct CompiledView {
  std::vector<ViewOp> ops;
  std::uint64_t landlock_handled_fs = 0;
  std::uint64_t landlock_scoped = 0;
  std::vector<LandlockRule> landlock_rules;
  std::vector<AbsentName> absent;
  std::vector<ReportEntry> entries;  // What is enforced and what is narrowed, and how.
};

// Compiles `paths` (the profile's policy, or that of a command with redeemed grants) into a view.
// Walks the writable roots for what globs and protected patterns match. Linux, reads only.
[[nodiscard]] absl::StatusOr<CompiledView> CompileView(const Profile& profile,
                                                       const PathPolicy& paths,
                                                       const ScratchFolders& scratch,
                                                       int landlock_abi);

// After a run: removes what was created under the absent names and says which, as absolute paths.
[[nodiscard]] std::vector<std::string> UndoCreatedNames(const std::vector<AbsentName>& absent);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_H_
