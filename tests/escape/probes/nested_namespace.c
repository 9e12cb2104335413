// Makes a user namespace of its own, with every capability in it, and attempts one thing from
// there. Outside it gets a mount namespace, too, so that what it mounts is thrown away.
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "probe.h"

static int WriteMap(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const long written = write(fd, text, strlen(text));
  close(fd);
  return written < 0 ? -1 : 0;
}

// Root inside, where /proc lets it.
static int MapIds(uid_t user, gid_t group) {
  char map[64];
  snprintf(map, sizeof map, "0 %u 1", (unsigned)user);
  if (WriteMap("/proc/self/setgroups", "deny") != 0) return -1;
  if (WriteMap("/proc/self/uid_map", map) != 0) return -1;
  snprintf(map, sizeof map, "0 %u 1", (unsigned)group);
  return WriteMap("/proc/self/gid_map", map);
}

// Switches the loopback of the network that `fd` was made in off.
static long ChangeLink(int fd) {
  struct {
    struct nlmsghdr header;
    struct ifinfomsg link;
  } request = {{sizeof request, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0},
               {AF_UNSPEC, 0, 0, 1, 0, IFF_UP}};
  struct {
    struct nlmsghdr header;
    struct nlmsgerr error;
    char rest[1024];
  } answer;
  if (send(fd, &request, sizeof request, 0) < 0) return -1;
  if (recv(fd, &answer, sizeof answer, 0) < 0) return -1;
  errno = -answer.error.error;
  return answer.error.error == 0 ? 0 : -1;
}

// What is in the file: "empty" for the cover of a denied one.
static int Content(const char* path) {
  char byte;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Say(fd);
  const long size = read(fd, &byte, 1);
  if (size == 0) {
    puts("empty");
    return 0;
  }
  return Say(size);
}

// Leaves a new root by a folder that was opened before, and reads what is there.
static int LeaveRoot(const char* path) {
  const int before = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  mkdir("new-root", 0700);
  if (chroot("new-root") != 0) return Say(-1);
  if (fchdir(before) != 0) return Say(-1);
  for (int i = 0; i < 64; ++i) {
    if (chdir("..") != 0) return Say(-1);
  }
  if (chroot(".") != 0) return Say(-1);
  return Content(path);
}

static long Mount(const char* type, const char* options) {
  mkdir("mounted", 0700);
  mkdir("work", 0700);
  return mount("none", "mounted", type, 0, options);
}

static long Enter(const char* kind) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? fd : syscall(SYS_setns, fd, 0);
}

static long PivotRoot(void) {
  mkdir("mounted", 0700);
  if (mount("mounted", "mounted", NULL, MS_BIND, NULL) != 0) return -1;
  return syscall(SYS_pivot_root, "mounted", "mounted");
}

static long CloneMount(const char* path) {
  return syscall(SYS_open_tree, AT_FDCWD, path, 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
}

// A child in a pid namespace of its own is process 1 there.
static long FirstChild(void) {
  if (unshare(CLONE_NEWPID) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) _exit(getpid() == 1 ? 0 : 1);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) return -1;
  errno = EPROTO;
  return status == 0 ? 0 : -1;
}

static int Processes(int count) {
  int made = 0;
  pid_t children[1024];
  while (made < count && made < 1024) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (child < 0) break;
    children[made++] = child;
  }
  const int error = errno;
  for (int i = 0; i < made; ++i) kill(children[i], SIGKILL);
  for (int i = 0; i < made; ++i) waitpid(children[i], NULL, 0);
  errno = error;
  return Say(made == count ? 0 : -1);
}

int main(int argc, char** argv) {
  if (argc < 2) return Usage();
  const char* path = argc > 2 ? argv[2] : "mounted";
  const uid_t user = getuid();
  const gid_t group = getgid();
  const int route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (Chosen(argc, argv, "own-link")) return Say(ChangeLink(route));
  if (unshare(CLONE_NEWUSER) != 0) {
    puts("no-userns");
    return 0;
  }
  const int mapped = MapIds(user, group);
  const int map_error = errno;
  if (Chosen(argc, argv, "view")) return Say(unshare(CLONE_NEWNS));
  (void)unshare(CLONE_NEWNS);
  if (Chosen(argc, argv, "map")) {
    errno = map_error;
    return Say(mapped);
  }
  if (Chosen(argc, argv, "umount")) return Say(umount2(path, MNT_DETACH));
  if (Chosen(argc, argv, "remount")) return Say(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, 0));
  if (Chosen(argc, argv, "tmpfs")) return Say(Mount("tmpfs", NULL));
  if (Chosen(argc, argv, "proc")) return Say(Mount("proc", NULL));
  if (Chosen(argc, argv, "overlay")) {
    return Say(Mount("overlay", "lowerdir=.,upperdir=mounted,workdir=work"));
  }
  if (Chosen(argc, argv, "bind")) return Say(mount(path, path, NULL, MS_BIND | MS_REC, NULL));
  if (Chosen(argc, argv, "pivot_root")) return Say(PivotRoot());
  if (Chosen(argc, argv, "open_tree")) return Say(CloneMount(path));
  if (Chosen(argc, argv, "fsopen")) return Say(syscall(SYS_fsopen, "tmpfs", 0));
  if (Chosen(argc, argv, "setns")) return Say(Enter(argc > 2 ? argv[2] : "user"));
  if (Chosen(argc, argv, "content")) return Content(path);
  if (Chosen(argc, argv, "write")) return Say(open(path, O_WRONLY | O_CLOEXEC));
  if (Chosen(argc, argv, "mode")) return Say(chmod(path, 0777));
  if (Chosen(argc, argv, "chroot")) return Say(chroot("/proc/self/fdinfo"));
  if (Chosen(argc, argv, "leave")) return LeaveRoot(path);
  if (Chosen(argc, argv, "link")) return Say(ChangeLink(route));
  if (Chosen(argc, argv, "new-net")) return Say(unshare(CLONE_NEWNET | CLONE_NEWIPC));
  if (Chosen(argc, argv, "raw")) {
    (void)unshare(CLONE_NEWNET);
    return Say(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1));
  }
  if (Chosen(argc, argv, "attach-first")) return Say(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
  if (Chosen(argc, argv, "first-child")) return Say(FirstChild());
  if (Chosen(argc, argv, "device")) return Say(mknod("device", S_IFCHR | 0600, 0x103));
  if (Chosen(argc, argv, "processes")) return Processes(atoi(path));
  return Usage();
}
