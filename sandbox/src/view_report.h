// What a report says about files: what the view enforces, and what the rules found.

#ifndef CORDON_SANDBOX_SRC_VIEW_REPORT_H_
#define CORDON_SANDBOX_SRC_VIEW_REPORT_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "workspace_index.h"

namespace cordon::internal {

// Of the namespaces tier. `listed_sockets`: those of the host that are reachable.
[[nodiscard]] std::vector<ReportEntry> ViewFileEntries(bool with_landlock,
                                                       const std::set<std::string>& listed_sockets);

// Of both tiers: about globs and protected paths, `absent` of which do not exist.
[[nodiscard]] std::vector<ReportEntry> RuleEntries(const PathPolicy& paths,
                                                   const IndexContents& found, std::size_t absent);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_REPORT_H_
