// The part of every view that does not depend on the project: /proc, /dev, private folders, and
// system files that are links or whose owner programs check.

#ifndef CORDON_SANDBOX_SRC_VIEW_SYSTEM_H_
#define CORDON_SANDBOX_SRC_VIEW_SYSTEM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/profile.h"
#include "view.h"
#include "view_builder.h"

namespace cordon::internal {

// Where the private folders of an executor appear: the same on every host, so that nothing of the
// host's layout shows in HOME and caches stay valid.
inline constexpr char kHomeInView[] = "/run/cordon/home";
inline constexpr char kCacheInView[] = "/run/cordon/cache";
inline constexpr char kTemporaryInView[] = "/run/cordon/tmp";  // Where /tmp itself is shown.

// Whether the view has its own in the place of the host's `path`: /proc, /dev, /run and, unless a
// rule of the policy names exactly them, /tmp and /var/tmp. Rules below /run, /tmp, /var/tmp and
// /dev/shm still show what they name.
[[nodiscard]] bool IsPrivatePlace(const PathPolicy& paths, std::string_view path);

// Whether no rule can show what is at `path`: /proc and /dev but for /dev/shm, and /run itself.
[[nodiscard]] bool IsReservedPlace(std::string_view path);

// Adds /proc, /dev, /run, HOME, the caches and temporary folders.
void AddPrivatePlaces(const Profile& profile, const PathPolicy& paths,
                      const ScratchFolders& scratch, ViewBuilder& builder);

// A rule's path that is a symbolic link on the host, e.g. /bin or /etc/localtime: the link itself
// when the view has its target, else the target's content in its place.
void AddLinkedFile(const PathPolicy& paths, const std::string& path, ViewBuilder& builder);

// Files which the host keeps in /run and links to from /etc, for a view that shows all of /etc.
void AddTargetsInRun(const PathPolicy& paths, ViewBuilder& builder);

// ssh refuses included files of another owner than root and the user, and inside, root is neither:
// shows copies that belong to the caller.
void AddSshConfiguration(const PathPolicy& paths, ViewBuilder& builder);

// Makes the folder or empty file `relative` in the private folder `scratch`, unless it is there.
// Never follows a link. Returns kInternal when a command has put something else in its place.
[[nodiscard]] absl::Status MakeScratchMountPoint(const std::string& scratch,
                                                 const std::string& relative, bool is_folder);

// Where the folders for HOME, TMPDIR and the caches are inside.
struct FoldersInView {
  std::string home;
  std::string temporary;
  std::string cache;
};
[[nodiscard]] FoldersInView FindFoldersInView(const Profile& profile);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_SYSTEM_H_
