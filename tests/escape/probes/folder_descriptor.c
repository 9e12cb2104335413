// Walks out of a folder that it holds open: ACT PATH, where PATH is below the host's root.
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "probe.h"

static long Below(const char* folder, const char* path) {
  const int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? fd : openat(fd, path, O_RDONLY | O_CLOEXEC);
}

// As many steps up as there can be.
static long Climb(const char* path) {
  char climbing[4200] = "";
  for (int i = 0; i < 40; ++i) strcat(climbing, "../");
  strncat(climbing, path + 1, 4000);
  return Below(".", climbing);
}

// Leaves by the folder that was open when the root changed.
static long ChangedRoot(const char* path) {
  const int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (chroot("/tmp") != 0) return -1;
  if (fchdir(fd) != 0) return -1;
  for (int i = 0; i < 40; ++i) {
    if (chdir("..") != 0) return -1;
  }
  return open(path + 1, O_RDONLY | O_CLOEXEC);
}

int main(int argc, char** argv) {
  if (argc != 3 || argv[2][0] != '/') return Usage();
  const char* relative = argv[2] + 1;
  if (Chosen(argc, argv, "climb")) return Say(Climb(argv[2]));
  if (Chosen(argc, argv, "own-root")) return Say(Below("/proc/self/root", relative));
  if (Chosen(argc, argv, "first-root")) return Say(Below("/proc/1/root", relative));
  if (Chosen(argc, argv, "first-cwd")) return Say(Below("/proc/1/cwd", relative));
  if (Chosen(argc, argv, "thread-root")) return Say(Below("/proc/thread-self/root", relative));
  if (Chosen(argc, argv, "changed-root")) return Say(ChangedRoot(argv[2]));
  return Usage();
}
