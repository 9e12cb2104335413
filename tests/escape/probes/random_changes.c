// Attempts random changes of files for a while: SEED MILLISECONDS PATH... Two processes do so at
// once, so that one changes what the other has just looked at. Everything that may be changed is
// below the paths given, and so is what may not. Modes always leave the owner his rights. Never run
// it without a sandbox: by way of ".." it gets everywhere.
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "probe.h"

enum { kMaxDescriptors = 24, kPath = 700 };

static uint64_t state;
static char** roots;
static int root_count;
static int descriptors[kMaxDescriptors];
static unsigned long done;

static uint32_t Random(void) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 2685821657736338717ULL) >> 32);
}
static uint32_t Below(uint32_t limit) { return Random() % limit; }

static const char* const kNames[] = {
    "kept",   "secret", "a",      "b",      "c",        "sub",     "sub/a",       "sub/b",
    ".git",   ".git/config", ".git/hooks", ".git/hooks/pre-commit", ".git/HEAD", ".envrc",
    ".vscode", "deny",  "deny/key", "..",   "../outside/kept", "../readable/kept", "link",
    "link/kept", "sub/link", ".",  "sub/.git", "sub/.git/config", "deep/er/file", "deep", "deep/er"};

static int AnyDescriptor(void) { return descriptors[Below(kMaxDescriptors)]; }

static void RandomPath(char* path) {
  const char* name = kNames[Below(sizeof kNames / sizeof *kNames)];
  switch (Below(10)) {
    case 0:
      snprintf(path, kPath, "/proc/self/fd/%d", AnyDescriptor());
      return;
    case 1:
      snprintf(path, kPath, "/proc/self/fd/%d/%s", AnyDescriptor(), name);
      return;
    case 2:
      snprintf(path, kPath, "/proc/self/root%s/%s", roots[Below((uint32_t)root_count)], name);
      return;
    case 3:
      snprintf(path, kPath, "/proc/%d/root%s/%s", Below(2) ? 1 : (int)getppid(),
               roots[Below((uint32_t)root_count)], name);
      return;
    case 4:
      snprintf(path, kPath, "%s", name);
      return;
    default:
      snprintf(path, kPath, "%s/%s", roots[Below((uint32_t)root_count)], name);
  }
}

static int RandomPlace(void) { return Below(3) ? AT_FDCWD : AnyDescriptor(); }

static void Keep(int fd) {
  if (fd < 0) return;
  ++done;
  const uint32_t at = Below(kMaxDescriptors);
  if (descriptors[at] > 2) close(descriptors[at]);
  descriptors[at] = fd;
}

static void Open(const char* path) {
  static const int kModes[] = {O_RDONLY, O_WRONLY, O_RDWR, O_PATH, O_RDONLY | O_DIRECTORY};
  static const int kMore[] = {0, O_CREAT, O_CREAT | O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW, O_TMPFILE};
  const int flags = kModes[Below(5)] | kMore[Below(7)] | O_CLOEXEC | O_NONBLOCK;
  if (Below(2)) {
    Keep(openat(RandomPlace(), path, flags, 0700));
    return;
  }
  struct open_how how;
  memset(&how, 0, sizeof how);
  how.flags = (uint64_t)flags;
  if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) how.mode = 0700;
  how.resolve = Below(2) ? 0 : 1ULL << Below(6);
  Keep((int)syscall(SYS_openat2, RandomPlace(), path, &how, sizeof how));
}

static void Mounts(const char* path, const char* other) {
  switch (Below(8)) {
    case 0: done += mount("none", path, "tmpfs", 0, NULL) == 0; break;
    case 1: done += mount(path, other, NULL, MS_BIND, NULL) == 0; break;
    case 2: done += umount2(path, MNT_DETACH) == 0; break;
    case 3: Keep((int)syscall(SYS_open_tree, AT_FDCWD, path, 1 /* OPEN_TREE_CLONE */)); break;
    case 4: done += syscall(SYS_move_mount, AnyDescriptor(), "", AT_FDCWD, path, 4) == 0; break;
    case 5: done += syscall(SYS_pivot_root, path, other) == 0; break;
    case 6: done += chroot(path) == 0; break;
    default: done += unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0; break;
  }
}

static sigjmp_buf cut;

static void OnCut(int signal) {
  (void)signal;
  siglongjmp(cut, 1);
}

static void Descriptor(int fd) {
  static const char kText[] = "changed by the attacker\n";
  int flags = FS_NODUMP_FL;
  const struct timespec times[2] = {{7, 0}, {7, 0}};
  switch (Below(11)) {
    case 0: done += write(fd, kText, sizeof kText - 1) > 0; break;
    case 1: done += pwrite(fd, kText, 5, 0) > 0; break;
    case 2: done += ftruncate(fd, Below(20)) == 0; break;
    case 3: done += fchmod(fd, 0700 | Below(0100)) == 0; break;
    case 4: done += futimens(fd, times) == 0; break;
    case 5: done += ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0; break;
    case 6: done += fallocate(fd, 0, 0, 64) == 0; break;
    case 7: done += fchdir(fd) == 0; break;
    case 8: done += copy_file_range(AnyDescriptor(), NULL, fd, NULL, 64, 0) > 0; break;
    case 9: done += sendfile(fd, AnyDescriptor(), NULL, 64) > 0; break;
    default: {
      char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (page == MAP_FAILED) break;
      // The file may be empty, or cut by another process at any time.
      if (sigsetjmp(cut, 1) == 0) {
        *(volatile char*)page = 'X';
        ++done;
      }
      munmap(page, 4096);
    }
  }
}

static void Socket(const char* path) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  done += bind(fd, (struct sockaddr*)&address, sizeof address) == 0;
  close(fd);
}

static void Attempt(void) {
  char path[kPath], other[kPath];
  RandomPath(path);
  RandomPath(other);
  const struct timespec times[2] = {{7, 0}, {7, 0}};
  static const unsigned kRename[] = {0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT};
  static const int kLink[] = {0, AT_SYMLINK_FOLLOW, AT_EMPTY_PATH};
  switch (Below(26)) {
    case 0: case 1: case 2: case 3: Open(path); break;
    case 4: case 5: case 6: case 7: Descriptor(AnyDescriptor()); break;
    case 8: case 9: case 10:
      done += syscall(SYS_renameat2, RandomPlace(), path, RandomPlace(), other, kRename[Below(5)]) == 0;
      break;
    case 11: case 12:
      done += linkat(RandomPlace(), Below(4) ? path : "", RandomPlace(), other, kLink[Below(3)]) == 0;
      break;
    case 13: case 14: done += symlinkat(path, RandomPlace(), other) == 0; break;
    case 15: case 16: done += unlinkat(RandomPlace(), path, Below(2) ? AT_REMOVEDIR : 0) == 0; break;
    case 17: done += mkdirat(RandomPlace(), path, 0700) == 0; break;
    case 18: done += fchmodat(RandomPlace(), path, 0700 | Below(0100), 0) == 0; break;
    case 19: done += utimensat(RandomPlace(), path, times, Below(2) ? AT_SYMLINK_NOFOLLOW : 0) == 0; break;
    case 20: done += truncate(path, Below(30)) == 0; break;
    case 21: done += setxattr(path, "user.attacker", "x", 1, 0) == 0; break;
    case 22: done += mknodat(RandomPlace(), path, S_IFIFO | 0700, 0) == 0; break;
    case 23: done += fchownat(RandomPlace(), path, getuid(), getgid(), AT_SYMLINK_NOFOLLOW) == 0; break;
    case 24: Mounts(path, other); break;
    default: Socket(path);
  }
}

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int main(int argc, char** argv) {
  signal(SIGBUS, OnCut);
  if (argc < 4) return Usage();
  state = strtoull(argv[1], NULL, 10) * 2654435761U + 1;
  signal(SIGPIPE, SIG_IGN);
  const long long end = Now() + atoi(argv[2]);
  roots = argv + 3;
  root_count = argc - 3;
  for (int i = 0; i < kMaxDescriptors; ++i) descriptors[i] = memfd_create("attacker", MFD_CLOEXEC);
  const pid_t second = fork();
  if (second == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    state = state * 31 + 7;
  }
  unsigned long attempts = 0;
  while (Now() < end) {
    for (int i = 0; i < 64; ++i, ++attempts) Attempt();
  }
  if (second == 0) return 0;
  waitpid(second, NULL, 0);
  printf("%lu of %lu\n", done, attempts);
  return 0;
}
