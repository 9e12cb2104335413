// Tries one system call that an ordinary command does not need and an attacker likes. On a host
// that confines nothing each of them changes at most this program, or is malformed.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "probe.h"

static long IoUring(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  return syscall(SYS_io_uring_setup, 4, &parameters);
}

static long Bpf(void) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static long PerfEvent(void) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

static long FileHandle(int by_handle) {
  struct {
    unsigned int bytes;
    int type;
    unsigned char bytes_of_it[128];
  } handle;
  memset(&handle, 0, sizeof handle);
  handle.bytes = sizeof handle.bytes_of_it;
  int mount_id = 0;
  const long named = syscall(SYS_name_to_handle_at, AT_FDCWD, ".", &handle, &mount_id, 0);
  if (!by_handle) return named;
  if (named < 0) {  // Whatever a handle would be: the call itself is asked.
    handle.bytes = 8;
    handle.type = 1;
  }
  const int root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return syscall(SYS_open_by_handle_at, root, &handle, O_RDONLY);
}

// Refused by the kernel itself as malformed: it cannot change the clock of a host that lets it.
static long SetClock(void) {
  const struct timeval malformed = {0, -1};
  return syscall(SYS_settimeofday, &malformed, NULL);  // The C library checks by itself.
}

static long Device(void) {
  const int result = mknod("device", S_IFCHR | 0600, 0x103);
  if (result == 0) unlink("device");
  return result;
}

int main(int argc, char** argv) {
  if (Chosen(argc, argv, "io_uring_setup")) return Say(IoUring());
  if (Chosen(argc, argv, "io_uring_enter")) return Say(syscall(SYS_io_uring_enter, -1, 0, 0, 0, 0));
  if (Chosen(argc, argv, "keyctl")) return Say(syscall(SYS_keyctl, 0, -3, 1));
  if (Chosen(argc, argv, "add_key")) {
    return Say(syscall(SYS_add_key, "user", "cordon-probe", "x", 1, -2));
  }
  if (Chosen(argc, argv, "request_key")) {
    return Say(syscall(SYS_request_key, "user", "cordon-probe", NULL, -2));
  }
  if (Chosen(argc, argv, "bpf")) return Say(Bpf());
  if (Chosen(argc, argv, "perf_event_open")) return Say(PerfEvent());
  if (Chosen(argc, argv, "userfaultfd")) return Say(syscall(SYS_userfaultfd, 1));
  if (Chosen(argc, argv, "name_to_handle_at")) return Say(FileHandle(0));
  if (Chosen(argc, argv, "open_by_handle_at")) return Say(FileHandle(1));
  if (Chosen(argc, argv, "fanotify_init")) return Say(syscall(SYS_fanotify_init, 0, O_RDONLY));
  if (Chosen(argc, argv, "syslog")) return Say(syscall(SYS_syslog, 10, NULL, 0));
  if (Chosen(argc, argv, "settimeofday")) return Say(SetClock());
  if (Chosen(argc, argv, "sethostname")) return Say(syscall(SYS_sethostname, "x", -1L));
  if (Chosen(argc, argv, "nice")) return Say(setpriority(PRIO_PROCESS, 0, -5));
  if (Chosen(argc, argv, "mknod")) return Say(Device());
  if (Chosen(argc, argv, "setuid")) return Say(setresuid(12345, 12345, 12345));
  if (Chosen(argc, argv, "memfd_secret")) return Say(syscall(447, 0));
  if (Chosen(argc, argv, "no-such-call")) return Say(syscall(999));
#ifdef SYS_iopl
  if (Chosen(argc, argv, "iopl")) return Say(syscall(SYS_iopl, 0));
  if (Chosen(argc, argv, "modify_ldt")) return Say(syscall(SYS_modify_ldt, 0, NULL, 0));
#endif
  return Usage();
}
