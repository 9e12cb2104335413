// From a policy to a plan: which parts of the host the mount view shows, and how.

#ifndef CORDON_SANDBOX_SRC_VIEW_H_
#define CORDON_SANDBOX_SRC_VIEW_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checked_folders.h"
#include "cordon/sandbox/probe.h"
#include "cordon/sdk/enforcement_report.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "plan.h"

namespace cordon::internal {

struct IndexContents;
class WritablePlaces;

// Below an isolated HOME; made by the first program that needs it, as everywhere.
inline constexpr char kCacheInHome[] = ".cache";

// The private folders of one executor on the host's disk. They appear in the view at fixed paths,
// see `FindFoldersInView`.
struct ScratchFolders {
  // HOME with `HomeMode::kIsolated`, and in it the caches: `kCacheInHome`. Else empty.
  std::string home;
  std::string temporary;  // /tmp and /var/tmp; TMPDIR.
  // XDG_CACHE_HOME and the caches of build tools where HOME is the real one. Else empty.
  std::string cache;
  // The folder of the whole set, hidden where a root of the profile would show it. May be empty.
  std::string all = {};
  // A folder that need not exist, for resolv.conf and the like, which are shown instead of the
  // host's: resolver_files.h. Empty: the host's are.
  std::string resolver = {};
  // Where the user's programs keep what they found below roots, `IndexCache`: hidden where a root
  // of the profile would show it. Need not exist; empty: nothing is kept.
  std::string index_cache = {};

  // Those that commands write to.
  [[nodiscard]] std::vector<std::string> Private() const {
    std::vector<std::string> folders;
    for (const std::string& folder : {home, temporary, cache}) {
      if (!folder.empty()) folders.push_back(folder);
    }
    return folders;
  }
};

// Protected or denied names that did not exist when the plan was made and cannot be mounted over:
// created inside, they are removed after the run and reported.
struct AbsentName {
  std::string path;
  std::string rule;

  friend bool operator==(const AbsentName&, const AbsentName&) = default;
};

// With `Tier::kLandlock` there is no view: `ops` is empty, and the rules speak of the host's paths.
struct CompiledView {
  std::vector<ViewOp> ops;
  std::uint64_t landlock_handled_fs = 0;
  std::uint64_t landlock_scoped = 0;
  std::vector<LandlockRule> landlock_rules;
  std::vector<AbsentName> absent;
  // Names that are forbidden to commands of other programs, which ran when this was compiled.
  std::vector<std::string> absent_elsewhere;
  std::vector<ReportEntry> entries;  // What is enforced and what is narrowed, and how.
  // With `Tier::kLandlock`: where the command may write.
  std::shared_ptr<const WritablePlaces> writable;
  // What was found below the roots; for `ViewCompiler::ChangedProtected`.
  std::shared_ptr<const IndexContents> found;
};

// Compiles the views of one executor. Remembers what it found below the roots, so that compiling
// again costs one statx(2) a folder. Linux; changes nothing on the host, but for mount points in
// `ScratchFolders::temporary`. Safe from any thread.
class ViewCompiler {
 public:
  // `landlock_abi` as landlock_create_ruleset(2) reports it; 0 without Landlock, which the
  // landlock tier must have. `tier` is not kNone.
  // `mediates`: see `HostFileEntries`.
  ViewCompiler(Profile profile, ScratchFolders scratch, int landlock_abi,
               Tier tier = Tier::kNamespaces, bool mediates = false);
  ~ViewCompiler();

  // Before the first `Compile`: begin with what another program found below the roots, and keep
  // what this one finds, in `ScratchFolders::index_cache`. Not if the profile lets commands write
  // there.
  void KeepIndex();

  // The view for the profile's policy, or for `paths`, that of a command with redeemed grants. To
  // be called before each command, since globs and protected patterns are matched here. The same
  // pointer as the last time when nothing changed; then a plan made of it still holds. The
  // profile's own is not compiled again while all that was asked for it has the same answer
  // (host_journal.h). Returns kBusy when there is too much below the roots to match it, and
  // kInternal when the host lacks memory or descriptors.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CompiledView>> Compile();
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CompiledView>> Compile(
      const PathPolicy& paths);

  // Has what the last `Compile` of the profile's policy found hold for the next one, if that comes
  // within `kHolding` of its beginning: both are for the same command.
  static constexpr std::chrono::milliseconds kHolding{10};
  void HoldForNext();

  // What the last `Compile` for the profile's policy found about folders.
  [[nodiscard]] CheckedFolders checked() const;

  // After a command in `view`: removes what it created under absent names, and returns that and
  // what it planted in new repositories, as absolute paths.
  [[nodiscard]] std::vector<std::string> ChangedProtected(const CompiledView& view);

  // How often a view was really compiled.
  [[nodiscard]] std::size_t compilations() const { return compilations_; }

 private:
  absl::Status CompileLocked(const PathPolicy& paths);

  const Profile profile_;
  const ScratchFolders scratch_;
  const int landlock_abi_;
  const Tier tier_;
  const bool mediates_;
  struct Memory;
  mutable std::mutex mutex_;
  std::unique_ptr<Memory> memory_;
  std::shared_ptr<const CompiledView> last_;
  std::atomic<std::size_t> compilations_ = 0;
};

// One view, without remembering anything.
[[nodiscard]] absl::StatusOr<CompiledView> CompileView(const Profile& profile,
                                                       const PathPolicy& paths,
                                                       const ScratchFolders& scratch,
                                                       int landlock_abi,
                                                       Tier tier = Tier::kNamespaces);

// After a run: removes what was created under the absent names and says which, as absolute paths.
[[nodiscard]] std::vector<std::string> UndoCreatedNames(const std::vector<AbsentName>& absent);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_H_
