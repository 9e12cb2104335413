// Turns "this path is to be shown like that" into Landlock rules over the host's own paths, for the
// tier that has no mount view.
//
// Landlock only ever allows, and always a whole tree (landlock(7)). Where something below a folder
// may do less than the folder itself, the rights that are not common to all of it are given to the
// folder's entries one by one, as they are listed now. So a name that appears later directly in
// such a folder has none of these rights, and with writing among them nothing can be made, moved or
// removed directly in it. What is left out is named, never given.

#ifndef CORDON_SANDBOX_SRC_HOST_RULES_H_
#define CORDON_SANDBOX_SRC_HOST_RULES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plan.h"
#include "view_builder.h"

namespace cordon::internal {

using Wishes = std::map<std::string, Wish>;

struct HostRules {
  static constexpr std::size_t kMaxRules = 50'000;

  std::vector<LandlockRule> rules;
  // Folders of which the entries were given the right to be written, but not the folder itself.
  std::vector<std::string> fixed;
  // Folders that cannot be listed although their entries can be read.
  std::vector<std::string> unlisted;
  // Folders that can be listed, where the rules do not let what appears directly in them later be
  // read: also not by the command that makes it. See NameMediator.
  std::vector<std::string> unread;
  // Folders that nobody could list here, so that nothing in them was given.
  std::vector<std::string> unseen;
};

// Lists the folders on the way to what is narrower; changes nothing. `abi` is at least 1. Returns
// kBusy when that takes more than `kMaxRules` rules.
[[nodiscard]] absl::StatusOr<HostRules> CompileHostRules(const Wishes& wishes, int abi);

// Whether the nearest wish at or above `path` shows it as writable.
[[nodiscard]] bool IsWritableOnHost(const Wishes& wishes, const std::string& path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_HOST_RULES_H_
