// The literal rules of a policy as wishes for a view, and what has to be looked for on the host to
// apply its globs.

#ifndef CORDON_SANDBOX_SRC_VIEW_RULES_H_
#define CORDON_SANDBOX_SRC_VIEW_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "directory_reader.h"
#include "view.h"
#include "view_builder.h"
#include "workspace_index.h"

namespace cordon::internal {

// A name that no rule has: what is decided for it is decided for whatever a folder contains.
inline constexpr std::string_view kAnyName = "\x01 any name \x01";

// A path that a literal rule names, and what is there on the host.
struct RulePlace {
  std::string path;
  NodeType type = NodeType::kMissing;
  Shown shown = Shown::kHidden;  // For a folder: what is in it and has no rule of its own.
  bool executable = false;
  bool is_system = false;
};

// Whether `path` is one of `SystemPaths`.
[[nodiscard]] bool IsSystemPath(std::string_view path);

// Sorted by path. `types` says what is at the path of each of the policy's rules.
[[nodiscard]] std::vector<RulePlace> FindRulePlaces(const PathPolicy& paths,
                                                    const std::vector<NodeType>& types);

// Adds them. What cannot be shown is named in `entries`; names that must stay missing go to
// `absent`.
void AddRulePlaces(const PathPolicy& paths, const std::vector<RulePlace>& places,
                   ViewBuilder& builder, std::vector<AbsentName>& absent,
                   std::vector<ReportEntry>& entries);

// Which folders to walk for the globs of `paths` and for repositories in its writable places.
[[nodiscard]] IndexRequest IndexRequestFor(const PathPolicy& paths,
                                           const std::vector<RulePlace>& places);

// How many folders above a match of the glob keep their place. A match of `/root/**/name` stays one
// wherever it is moved below the root, so none; of `/root/**/a/name`, one.
[[nodiscard]] int PinnedLevels(const GlobRule& rule, const std::vector<RulePlace>& places);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_RULES_H_
