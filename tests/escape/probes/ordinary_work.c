// What programs do all day and a sandbox must not take away; the argument chooses one.
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "probe.h"

static void* Nothing(void* argument) { return argument; }

static long Thread(void) {
  pthread_t thread;
  errno = pthread_create(&thread, NULL, Nothing, NULL);
  return errno != 0 ? -1 : pthread_join(thread, NULL);
}

static long Fork(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return status;
}

static long NamedSemaphore(void) {
  sem_t* semaphore = sem_open("/cordon-probe", O_CREAT, 0600, 1);
  sem_unlink("/cordon-probe");
  return semaphore == SEM_FAILED ? -1 : 0;
}

static long SharedMemory(void) {
  const int fd = shm_open("/cordon-probe", O_CREAT | O_RDWR, 0600);
  shm_unlink("/cordon-probe");
  return fd;
}

static long SystemV(void) {
  const int id = shmget(IPC_PRIVATE, 4096, 0600);
  if (id >= 0) shmctl(id, IPC_RMID, NULL);
  const int set = semget(IPC_PRIVATE, 1, 0600);
  if (set >= 0) semctl(set, 0, IPC_RMID);
  return id < 0 ? id : set;
}

static long ExecutableMemory(void) {
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return -1;
  return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static long PassDescriptor(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
  char control[CMSG_SPACE(sizeof(int))];
  memset(control, 0, sizeof control);
  struct iovec data = {"x", 1};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &ends[0], sizeof(int));
  return sendmsg(ends[1], &message, 0);
}

static long Terminal(void) {
  int master, slave;
  return openpty(&master, &slave, NULL, NULL, NULL);
}

int main(int argc, char** argv) {
  unsigned long mask = 0;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  char byte;
  if (Chosen(argc, argv, "thread")) return Say(Thread());
  if (Chosen(argc, argv, "fork")) return Say(Fork());
  if (Chosen(argc, argv, "session")) return Say(fork() == 0 ? setsid() : (wait(NULL), 0));
  if (Chosen(argc, argv, "named-semaphore")) return Say(NamedSemaphore());
  if (Chosen(argc, argv, "shared-memory")) return Say(SharedMemory());
  if (Chosen(argc, argv, "system-v")) return Say(SystemV());
  if (Chosen(argc, argv, "executable-memory")) return Say(ExecutableMemory());
  if (Chosen(argc, argv, "pass-descriptor")) return Say(PassDescriptor());
  if (Chosen(argc, argv, "terminal")) return Say(Terminal());
  if (Chosen(argc, argv, "epoll")) return Say(epoll_create1(0));
  if (Chosen(argc, argv, "eventfd")) return Say(eventfd(0, 0));
  if (Chosen(argc, argv, "timerfd")) return Say(timerfd_create(CLOCK_MONOTONIC, 0));
  if (Chosen(argc, argv, "signalfd")) return Say(signalfd(-1, &signals, 0));
  if (Chosen(argc, argv, "inotify"))
    return Say(inotify_add_watch(inotify_init1(0), ".", IN_CREATE));
  if (Chosen(argc, argv, "random")) return Say(getrandom(&byte, 1, 0));
  if (Chosen(argc, argv, "affinity")) {
    return Say(syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask));
  }
  if (Chosen(argc, argv, "name")) return Say(prctl(PR_SET_NAME, "probe"));
  if (Chosen(argc, argv, "own-memory")) return Say(open("/proc/self/mem", O_RDONLY));
  if (Chosen(argc, argv, "pidfd")) return Say(syscall(SYS_pidfd_open, getpid(), 0));
  return Usage();
}
