// Tries one call that changes what is mounted, or where the root is. Each works on a folder of its
// own below the current one that is no mount, so that a call that gets through the filter fails
// with EINVAL or EBUSY and changes nothing, whoever runs it: never name a real mount here. "tmpfs"
// and "bind" would succeed, so they run only where CORDON_PROBE_DISPOSABLE says that the mount
// namespace is thrown away afterwards.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "probe.h"

static const char kFolder[] = "no-mount";

static int Disposable(void) { return getenv("CORDON_PROBE_DISPOSABLE") != NULL; }

int main(int argc, char** argv) {
  mkdir(kFolder, 0700);
  if (Chosen(argc, argv, "tmpfs") && Disposable()) {
    return Say(mount("none", kFolder, "tmpfs", 0, NULL));
  }
  if (Chosen(argc, argv, "bind") && Disposable()) {
    return Say(mount(kFolder, kFolder, NULL, MS_BIND, NULL));
  }
  if (Chosen(argc, argv, "umount")) return Say(umount2(kFolder, 0));
  if (Chosen(argc, argv, "remount")) {
    return Say(mount(NULL, kFolder, NULL, MS_REMOUNT | MS_BIND, NULL));
  }
  if (Chosen(argc, argv, "fsopen")) return Say(syscall(SYS_fsopen, "tmpfs", 0));
  if (Chosen(argc, argv, "open_tree")) return Say(syscall(SYS_open_tree, AT_FDCWD, kFolder, 1));
  if (Chosen(argc, argv, "move_mount")) {
    return Say(syscall(SYS_move_mount, AT_FDCWD, kFolder, AT_FDCWD, kFolder, 0));
  }
  if (Chosen(argc, argv, "mount_setattr")) {
    // struct mount_attr (mount_setattr(2)): to set, to clear, propagation, userns_fd.
    const unsigned long long nothing[4] = {0, 0, 0, 0};
    return Say(syscall(SYS_mount_setattr, AT_FDCWD, kFolder, 0, nothing, sizeof nothing));
  }
  if (Chosen(argc, argv, "pivot_root")) return Say(syscall(SYS_pivot_root, kFolder, kFolder));
  if (Chosen(argc, argv, "chroot")) return Say(chroot(kFolder));
  return Usage();
}
