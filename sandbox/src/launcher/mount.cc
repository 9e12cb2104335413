#include "launcher/mount.h"

#include <linux/fcntl.h>
#include <linux/openat2.h>

namespace cordon::launcher {
namespace {

Fd Open(int folder, const char* path, int more_flags, std::uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | more_flags);
  how.resolve = resolve;
  return Fd(Call(__NR_openat2, folder, path, &how, sizeof(how)));
}

int SetMountAttributes(int place, unsigned flags, const mount_attr& attributes) {
  return ErrorOf(
      Call(__NR_mount_setattr, place, "", AT_EMPTY_PATH | flags, &attributes, sizeof(attributes)));
}

constexpr std::uint64_t kPropagatePrivate = 1 << 18;  // MS_PRIVATE, which mount_setattr(2) takes.

}  // namespace

Fd OpenBeneath(int folder, const char* path, int more_flags) {
  // A link in the last place is opened itself.
  return Open(folder, path, more_flags | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

Fd OpenHost(const char* path) { return Open(AT_FDCWD, path, 0, RESOLVE_NO_SYMLINKS); }

Fd CloneTree(int place, std::uint64_t attributes) {
  Fd tree(Call(__NR_open_tree, place, "",
               AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!tree.ok() || attributes == 0) return tree;
  mount_attr wanted = {};
  wanted.attr_set = attributes;
  if (const int error = SetMountAttributes(tree.get(), AT_RECURSIVE, wanted)) return Fd(-error);
  return tree;
}

Fd CloneEntry(int folder, const char* name) {
  return Fd(Call(
      __NR_open_tree, folder, name,
      AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
}

Fd NewFileSystem(const char* type, const char* const* options, std::uint64_t attributes) {
  const Fd context(Call(__NR_fsopen, type, FSOPEN_CLOEXEC));
  if (!context.ok()) return Fd(-context.error());
  for (; *options != nullptr; options += 2) {
    const long set =
        Call(__NR_fsconfig, context.get(), FSCONFIG_SET_STRING, options[0], options[1], 0);
    if (ErrorOf(set) != 0) return Fd(set);
  }
  const long made = Call(__NR_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0);
  if (ErrorOf(made) != 0) return Fd(made);
  return Fd(Call(__NR_fsmount, context.get(), FSMOUNT_CLOEXEC, attributes));
}

int Attach(int mount, int place) {
  return ErrorOf(Call(__NR_move_mount, mount, "", place, "",
                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH));
}

int AttachAt(int mount, int folder, const char* name) {
  return ErrorOf(Call(__NR_move_mount, mount, "", folder, name, MOVE_MOUNT_F_EMPTY_PATH));
}

int SetAttributes(int place, std::uint64_t attributes) {
  mount_attr wanted = {};
  wanted.attr_set = attributes;
  return SetMountAttributes(place, 0, wanted);
}

int EnterRoot(int root) {
  if (const int error = ErrorOf(Call(__NR_fchdir, root))) return error;
  // The old root is stacked onto the new one and then taken away: pivot_root(2), "Notes".
  return ErrorOf(Call(__NR_pivot_root, ".", "."));
}

int LeaveOldRoot() {
  constexpr int kDetach = 2;  // MNT_DETACH
  if (const int error = ErrorOf(Call(__NR_umount2, ".", kDetach))) return error;
  return ErrorOf(Call(__NR_chdir, "/"));
}

int MakeAllPrivate() {
  const Fd root(Call(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC));
  if (!root.ok()) return root.error();
  mount_attr wanted = {};
  wanted.propagation = kPropagatePrivate;
  return SetMountAttributes(root.get(), AT_RECURSIVE, wanted);
}

}  // namespace cordon::launcher
