// One compilation of a view, and what the next one need not look for again.

#ifndef CORDON_SANDBOX_SRC_VIEW_COMPILATION_H_
#define CORDON_SANDBOX_SRC_VIEW_COMPILATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hard_links.h"
#include "host_journal.h"
#include "index_cache.h"
#include "place_memory.h"
#include "view.h"
#include "view_builder.h"
#include "workspace_index.h"

namespace cordon::internal {

// Of the compilations of one executor.
struct ViewMemory {
  explicit ViewMemory(std::unique_ptr<IndexCache> cache = nullptr) : index(std::move(cache)) {}

  PlaceMemory places;
  WorkspaceIndex index;
  HardLinks hidden_links;
  HardLinks protected_links;

  // Of the last compilation, unless it cannot be told whether that still holds.
  std::optional<HostJournal> journal;
  std::uint64_t generation = 0;  // Of the index.
  CheckedFolders checked;
  std::uint64_t rechecks = 0;  // Of the journal, when `checked` was found.
  std::vector<ViewBuilder::MountPoint> mount_points;
};

// Makes those beneath the executor's own folder, in which commands may have planted links.
[[nodiscard]] absl::Status MakeMountPoints(const std::vector<ViewBuilder::MountPoint>& points);

// Errors are those of `ViewCompiler::Compile`.
[[nodiscard]] absl::StatusOr<CompiledView> CompileWith(ViewMemory& memory, const Profile& profile,
                                                       const PathPolicy& paths,
                                                       const ScratchFolders& scratch, Tier tier,
                                                       int landlock_abi, bool mediates);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_COMPILATION_H_
