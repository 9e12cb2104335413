// Makes or enters a namespace by the call that the first two arguments name, in a child so that the
// program itself is not changed.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "probe.h"

static const struct {
  const char* name;
  unsigned long flag;
} kKinds[] = {
    {"user", CLONE_NEWUSER},     {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},
    {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC},  {"uts", CLONE_NEWUTS},
    {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80},         {"none", 0},
};

static long CloneWith(unsigned long flag, int by_clone3) {
  // struct clone_args (clone(2)): flags, pidfd, child_tid, parent_tid, exit_signal, stack, ...
  unsigned long long arguments[8] = {flag, 0, 0, 0, SIGCHLD, 0, 0, 0};
  const long child = by_clone3 ? syscall(SYS_clone3, arguments, sizeof arguments)
                               : syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return child;
}

static long Enter(const char* kind) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/ns/%s", strcmp(kind, "mount") == 0 ? "mnt" : kind);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? fd : syscall(SYS_setns, fd, 0);
}

int main(int argc, char** argv) {
  if (argc != 3) return Usage();
  for (unsigned i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (strcmp(argv[2], kKinds[i].name) != 0) continue;
    if (Chosen(argc, argv, "unshare")) return Say(syscall(SYS_unshare, kKinds[i].flag));
    if (Chosen(argc, argv, "clone")) return Say(CloneWith(kKinds[i].flag, 0));
    if (Chosen(argc, argv, "clone3")) return Say(CloneWith(kKinds[i].flag, 1));
    if (Chosen(argc, argv, "setns")) return Say(Enter(argv[2]));
  }
  return Usage();
}
