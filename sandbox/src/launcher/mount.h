// The mount calls that the view is made of, each on descriptors. Paths are resolved without
// following symbolic links.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_MOUNT_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_MOUNT_H_

#include <linux/mount.h>

#include <cstdint>

#include "launcher/fd.h"

namespace cordon::launcher {

// MOUNT_ATTR_* that no mount of a view is without, but for device nodes.
inline constexpr std::uint64_t kPlainAttributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// What is at `path`, relative to `folder` and beneath it, as O_PATH.
[[nodiscard]] Fd OpenBeneath(int folder, const char* path, int more_flags = 0);
// What is at the absolute host path `path`, as O_PATH.
[[nodiscard]] Fd OpenHost(const char* path);

// A detached copy of the mount tree at `place`, with all that is mounted below it, and with
// `attributes` (MOUNT_ATTR_*) set on every mount of it.
[[nodiscard]] Fd CloneTree(int place, std::uint64_t attributes);

// The same of `name`, one component and no dots, in `folder`; of a link itself.
[[nodiscard]] Fd CloneEntry(int folder, const char* name);

// A new file system as a detached mount. `options` are name, value, name, value, ..., nullptr.
[[nodiscard]] Fd NewFileSystem(const char* type, const char* const* options,
                               std::uint64_t attributes);

// Puts a detached mount over `place`, or over what was just made as `name` in `folder`. Return an
// errno.
[[nodiscard]] int Attach(int mount, int place);
[[nodiscard]] int AttachAt(int mount, int folder, const char* name);

// Sets attributes on the mount at `place` alone. Returns an errno.
[[nodiscard]] int SetAttributes(int place, std::uint64_t attributes);

// Makes the mount that `root` is open on the root and the working directory. What was the root
// before is stacked on it, where no path leads, until `LeaveOldRoot`. Returns an errno.
[[nodiscard]] int EnterRoot(int root);

// Nothing is left of what was the root before. Waits for the kernel's readers (RCU), some 200 us,
// in which nothing is computed. To be called from the working directory that `EnterRoot` left.
// Returns an errno.
[[nodiscard]] int LeaveOldRoot();

// No mount event enters or leaves this namespace from now on. Returns an errno.
[[nodiscard]] int MakeAllPrivate();

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_MOUNT_H_
