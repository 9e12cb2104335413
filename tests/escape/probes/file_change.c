// Changes a file or folder, or its place, by one system call: ACT PATH [OTHER].
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>

#include "probe.h"

static long Reopen(const char* path) {
  char by_number[64];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", fd);
  return open(by_number, O_RDWR | O_CLOEXEC);
}

static long LinkDescriptor(const char* path, const char* other) {
  char by_number[64];
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return fd;
  snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, by_number, AT_FDCWD, other, AT_SYMLINK_FOLLOW);
}

int main(int argc, char** argv) {
  if (argc < 3) return Usage();
  const char* path = argv[2];
  const char* other = argc > 3 ? argv[3] : "other";
  const struct timespec times[2] = {{1, 0}, {1, 0}};
  if (Chosen(argc, argv, "read")) return Say(open(path, O_RDONLY | O_CLOEXEC));
  if (Chosen(argc, argv, "write")) return Say(open(path, O_WRONLY | O_CLOEXEC));
  if (Chosen(argc, argv, "create")) return Say(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (Chosen(argc, argv, "temporary")) return Say(open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (Chosen(argc, argv, "truncate")) return Say(truncate(path, 0));
  if (Chosen(argc, argv, "unlink")) return Say(unlink(path));
  if (Chosen(argc, argv, "rmdir")) return Say(rmdir(path));
  if (Chosen(argc, argv, "mkdir")) return Say(mkdir(path, 0700));
  if (Chosen(argc, argv, "symlink")) return Say(symlink("target", path));
  if (Chosen(argc, argv, "chmod")) return Say(chmod(path, 0600));
  if (Chosen(argc, argv, "chown")) return Say(lchown(path, getuid(), getgid()));
  if (Chosen(argc, argv, "utimens")) return Say(utimensat(AT_FDCWD, path, times, 0));
  if (Chosen(argc, argv, "setxattr")) return Say(setxattr(path, "user.probe", "x", 1, 0));
  if (Chosen(argc, argv, "rename")) return Say(rename(path, other));
  if (Chosen(argc, argv, "exchange")) {
    return Say(syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 2));
  }
  if (Chosen(argc, argv, "whiteout")) {
    return Say(syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 4));
  }
  if (Chosen(argc, argv, "link")) return Say(link(path, other));
  if (Chosen(argc, argv, "link-descriptor")) return Say(LinkDescriptor(path, other));
  if (Chosen(argc, argv, "reopen")) return Say(Reopen(path));
  return Usage();
}
