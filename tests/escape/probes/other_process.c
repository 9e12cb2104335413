// Reaches into another process: "sibling" (a child of this program), "first" (process 1), or a
// number.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "probe.h"

static int kWord = 42;

static long Attempt(const char* act, pid_t pid) {
  char path[64];
  if (strcmp(act, "seize") == 0) return ptrace(PTRACE_SEIZE, pid, NULL, NULL);
  if (strcmp(act, "attach") == 0) return ptrace(PTRACE_ATTACH, pid, NULL, NULL);
  if (strcmp(act, "read") == 0) {
    int copy = 0;
    struct iovec local = {&copy, sizeof copy};
    struct iovec remote = {&kWord, sizeof kWord};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0);
  }
  if (strcmp(act, "write") == 0) {
    int copy = 42;
    struct iovec local = {&copy, sizeof copy};
    struct iovec remote = {&kWord, sizeof kWord};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0);
  }
  if (strcmp(act, "mem") == 0) {
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
  }
  if (strcmp(act, "environ") == 0) {
    char byte;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? fd : read(fd, &byte, 1);
  }
  if (strcmp(act, "root") == 0) {
    snprintf(path, sizeof path, "/proc/%d/root/", (int)pid);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (strcmp(act, "getfd") == 0) {
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return pidfd < 0 ? pidfd : syscall(SYS_pidfd_getfd, pidfd, 0, 0);
  }
  if (strcmp(act, "kcmp") == 0) return syscall(SYS_kcmp, getpid(), pid, 2, 0, 0);
  if (strcmp(act, "kill") == 0) return kill(pid, 0);
  if (strcmp(act, "pidfd") == 0) return syscall(SYS_pidfd_open, pid, 0);
  if (strcmp(act, "limits") == 0) return syscall(SYS_prlimit64, pid, 7, NULL, NULL);
  if (strcmp(act, "affinity") == 0) {
    unsigned long mask = 0;
    return syscall(SYS_sched_getaffinity, pid, sizeof mask, &mask);
  }
  errno = EINVAL;
  return -1;
}

int main(int argc, char** argv) {
  if (argc != 3) return Usage();
  pid_t pid = 0;
  if (strcmp(argv[2], "sibling") == 0) {
    pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
  } else {
    pid = strcmp(argv[2], "first") == 0 ? 1 : atoi(argv[2]);
  }
  const long result = Attempt(argv[1], pid);
  const int error = errno;
  if (strcmp(argv[2], "sibling") == 0) kill(pid, SIGKILL);
  errno = error;
  return Say(result);
}
