// The kinds of steps that build a mount view; see `ViewOp` in plan.h.

#ifndef CORDON_SANDBOX_SRC_VIEW_OP_KIND_H_
#define CORDON_SANDBOX_SRC_VIEW_OP_KIND_H_

#include <cstdint>

namespace cordon::internal {

enum class ViewOpKind : std::uint8_t {
  kDir,      // A folder with `mode`.
  kFile,     // A file with `mode` and `data` as its content; owned by the caller.
  kSymlink,  // A link whose text is `data`.
  kBind,     // The host's `source` at `target`, with all mounts below it.
  kProtect,  // What is at `target` now, mounted over itself read-only; its mount also keeps it
             // from being renamed or removed.
  kMask,     // An empty, mode 000, read-only folder or file (as the target is) over `target`.
  kTmpfs,    // A tmpfs with `mode` and `size_bytes` (0: the kernel's default). `read_only` takes
             // effect after the last step, so that later ones still find a place in it.
  kPin,      // Keeps the folder `target` from being renamed, replaced or removed, without making it
             // a mount of its own for path look-ups: something is mounted on the same dentry in a
             // second, hidden bind of the root `source` (a writable root of the view). Renames and
             // hard links across `target` still work (rename(2): EXDEV compares mounts, EBUSY asks
             // whether the dentry is a mount point anywhere in the namespace). Like kMask, it also
             // works on a symbolic link itself.
  kProc,     // proc of the new pid namespace, /proc/sys read-only; for real root, whom the kernel's
             // files belong to, all of it read-only and the kernel's memory masked.
  kDev,      // The minimal /dev: null, zero, full, random, urandom, tty, fd, stdin, stdout, stderr,
             // ptmx with an own devpts, shm.
  kSocket,   // The host's unix socket `source` at `target`.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_VIEW_OP_KIND_H_
