#include "syscall_policy.h"

#include <seccomp.h>

#include <cerrno>
#include <string_view>

namespace cordon::internal {
namespace {

// clang-format off
constexpr const char* kAllowed[] = {
    // Files
    "read", "write", "open", "close", "stat", "fstat", "lstat", "poll", "lseek", "pread64",
    "pwrite64", "readv", "writev", "access", "pipe", "select", "dup", "dup2", "sendfile", "fcntl",
    "flock", "fsync", "fdatasync", "truncate", "ftruncate", "getdents", "getcwd", "chdir",
    "fchdir", "rename", "mkdir", "rmdir", "creat", "link", "unlink", "symlink", "readlink",
    "chmod", "fchmod", "chown", "fchown", "lchown", "umask", "utime", "mknod", "ustat", "statfs",
    "fstatfs", "sysfs", "sync", "readahead", "setxattr", "lsetxattr", "fsetxattr", "getxattr",
    "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "removexattr",
    "lremovexattr", "fremovexattr", "getdents64", "fadvise64", "utimes", "openat", "mkdirat",
    "mknodat", "fchownat", "futimesat", "newfstatat", "unlinkat", "renameat", "linkat",
    "symlinkat", "readlinkat", "fchmodat", "faccessat", "pselect6", "ppoll", "splice", "tee",
    "sync_file_range", "vmsplice", "utimensat", "fallocate", "dup3", "pipe2", "preadv", "pwritev",
    "name_to_handle_at", "syncfs", "renameat2", "copy_file_range", "preadv2", "pwritev2", "statx",
    "close_range", "openat2", "faccessat2", "cachestat", "fchmodat2", "setxattrat", "getxattrat",
    "listxattrat", "removexattrat", "file_getattr", "file_setattr", "statmount", "listmount",
    // Waiting for events
    "epoll_create", "epoll_wait", "epoll_ctl", "epoll_pwait", "epoll_create1", "epoll_pwait2",
    "inotify_init", "inotify_add_watch", "inotify_rm_watch", "inotify_init1", "signalfd",
    "signalfd4", "eventfd", "eventfd2", "timerfd_create", "timerfd_settime", "timerfd_gettime",
    "io_setup", "io_destroy", "io_getevents", "io_submit", "io_cancel", "io_pgetevents",
    // Memory
    "mmap", "mprotect", "munmap", "brk", "mremap", "msync", "mincore", "madvise", "mlock",
    "munlock", "mlockall", "munlockall", "remap_file_pages", "mbind", "set_mempolicy",
    "get_mempolicy", "migrate_pages", "move_pages", "membarrier", "mlock2", "pkey_mprotect",
    "pkey_alloc", "pkey_free", "memfd_create", "memfd_secret", "process_madvise",
    "set_mempolicy_home_node", "map_shadow_stack", "mseal",
    // Processes and threads; what these may touch of others is for the pid namespace to say
    "fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "kill",
    "tkill", "tgkill", "pidfd_open", "pidfd_send_signal", "process_mrelease", "getpid", "getppid",
    "gettid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "set_tid_address", "futex",
    "set_robust_list", "get_robust_list", "rseq", "futex_waitv", "futex_wake", "futex_wait",
    "futex_requeue", "prctl", "arch_prctl", "restart_syscall", "sched_yield", "sched_setparam",
    "sched_getparam", "sched_setscheduler", "sched_getscheduler", "sched_get_priority_max",
    "sched_get_priority_min", "sched_rr_get_interval", "sched_setaffinity", "sched_getaffinity",
    "sched_setattr", "sched_getattr", "getpriority", "setpriority", "ioprio_set", "ioprio_get",
    "getcpu", "uretprobe",
    // Signals
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "rt_sigsuspend", "sigaltstack", "pause",
    // Identity: without capabilities only what changes nothing succeeds
    "getuid", "getgid", "geteuid", "getegid", "setuid", "setgid", "setreuid", "setregid",
    "getgroups", "setgroups", "setresuid", "getresuid", "setresgid", "getresgid", "setfsuid",
    "setfsgid", "capget", "capset",
    // Restricting oneself further
    "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
    "lsm_get_self_attr", "lsm_list_modules",
    // Time, limits, the machine
    "nanosleep", "getitimer", "alarm", "setitimer", "gettimeofday", "time", "times",
    "timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete",
    "clock_gettime", "clock_getres", "clock_nanosleep", "adjtimex", "clock_adjtime", "getrlimit",
    "setrlimit", "prlimit64", "getrusage", "sysinfo", "uname", "getrandom",
    // Sockets; which kinds is checked where they are made
    "connect", "accept", "accept4", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg",
    "recvmmsg", "shutdown", "bind", "listen", "getsockname", "getpeername", "setsockopt",
    "getsockopt",
    // IPC, which has a namespace of its own
    "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget",
    "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive",
    "mq_notify", "mq_getsetattr",
};

constexpr RefusedCall kRefused[] = {
    // Libraries fall back to clone, whose flags can be checked: they are not behind a pointer.
    {"clone3", ENOSYS},
    // Other processes' memory and descriptors
    {"ptrace", EPERM}, {"process_vm_readv", EPERM}, {"process_vm_writev", EPERM},
    {"pidfd_getfd", EPERM}, {"kcmp", EPERM},
    // Namespaces and mounts
    {"setns", EPERM}, {"mount", EPERM}, {"umount2", EPERM}, {"pivot_root", EPERM},
    {"chroot", EPERM}, {"open_tree", EPERM}, {"move_mount", EPERM}, {"fsopen", EPERM},
    {"fsconfig", EPERM}, {"fsmount", EPERM}, {"fspick", EPERM}, {"mount_setattr", EPERM},
    {"open_tree_attr", EPERM}, {"open_by_handle_at", EPERM}, {"sethostname", EPERM},
    {"setdomainname", EPERM}, {"lsm_set_self_attr", EPERM},
    // Much kernel code that a development tool can do without, and ways around path rules
    {"bpf", EPERM}, {"perf_event_open", EPERM}, {"userfaultfd", EPERM},
    {"io_uring_setup", EPERM}, {"io_uring_enter", EPERM}, {"io_uring_register", EPERM},
    {"add_key", EPERM}, {"request_key", EPERM}, {"keyctl", EPERM}, {"fanotify_init", EPERM},
    {"fanotify_mark", EPERM}, {"modify_ldt", EPERM}, {"vhangup", EPERM},
    {"lookup_dcookie", EPERM},
    // The machine's own
    {"kexec_load", EPERM}, {"kexec_file_load", EPERM}, {"init_module", EPERM},
    {"finit_module", EPERM}, {"delete_module", EPERM}, {"swapon", EPERM}, {"swapoff", EPERM},
    {"reboot", EPERM}, {"acct", EPERM}, {"quotactl", EPERM}, {"quotactl_fd", EPERM},
    {"syslog", EPERM}, {"settimeofday", EPERM}, {"clock_settime", EPERM}, {"iopl", EPERM},
    {"ioperm", EPERM},
    // Not in any kernel of today
    {"uselib", ENOSYS}, {"_sysctl", ENOSYS}, {"create_module", ENOSYS},
    {"get_kernel_syms", ENOSYS}, {"query_module", ENOSYS}, {"nfsservctl", ENOSYS},
    {"getpmsg", ENOSYS}, {"putpmsg", ENOSYS}, {"afs_syscall", ENOSYS}, {"tuxcall", ENOSYS},
    {"security", ENOSYS}, {"vserver", ENOSYS}, {"epoll_ctl_old", ENOSYS},
    {"epoll_wait_old", ENOSYS}, {"set_thread_area", ENOSYS}, {"get_thread_area", ENOSYS},
};

constexpr CheckedCall kChecked[] = {
    {"clone", ArgumentCheck::kClone},
    {"unshare", ArgumentCheck::kUnshare},
    {"socket", ArgumentCheck::kSocket},
    {"socketpair", ArgumentCheck::kSocketPair},
    {"ioctl", ArgumentCheck::kIoctl},
    {"personality", ArgumentCheck::kPersonality},
};

constexpr RefusedCall kRefusedOnHost[] = {
    // IPC objects and message queues of the same user are the host's.
    {"shmget", ENOSYS}, {"shmat", ENOSYS}, {"shmctl", ENOSYS}, {"shmdt", ENOSYS},
    {"semget", ENOSYS}, {"semop", ENOSYS}, {"semctl", ENOSYS}, {"semtimedop", ENOSYS},
    {"msgget", ENOSYS}, {"msgsnd", ENOSYS}, {"msgrcv", ENOSYS}, {"msgctl", ENOSYS},
    {"mq_open", ENOSYS}, {"mq_unlink", ENOSYS}, {"mq_timedsend", ENOSYS},
    {"mq_timedreceive", ENOSYS}, {"mq_notify", ENOSYS}, {"mq_getsetattr", ENOSYS},
    // Attributes, as on a file system that has none; programs go on without.
    {"setxattr", EOPNOTSUPP}, {"lsetxattr", EOPNOTSUPP}, {"fsetxattr", EOPNOTSUPP},
    {"setxattrat", EOPNOTSUPP}, {"removexattr", EOPNOTSUPP}, {"lremovexattr", EOPNOTSUPP},
    {"fremovexattr", EOPNOTSUPP}, {"removexattrat", EOPNOTSUPP}, {"file_setattr", EOPNOTSUPP},
    {"getxattr", EOPNOTSUPP}, {"lgetxattr", EOPNOTSUPP}, {"fgetxattr", EOPNOTSUPP},
    {"getxattrat", EOPNOTSUPP}, {"listxattr", EOPNOTSUPP}, {"llistxattr", EOPNOTSUPP},
    {"flistxattr", EOPNOTSUPP}, {"listxattrat", EOPNOTSUPP},
    // What happens in a folder that may not be read.
    {"inotify_add_watch", EACCES},
    // Other processes
    {"process_madvise", EPERM}, {"process_mrelease", EPERM},
    // The host's mounts
    {"statmount", EPERM}, {"listmount", EPERM},
};

constexpr CheckedCall kCheckedOnHost[] = {
    {"socket", ArgumentCheck::kNetworkSocket},
    {"socketpair", ArgumentCheck::kBoundPair},
    {"ioctl", ArgumentCheck::kFileIoctl},
    {"prlimit64", ArgumentCheck::kOwnProcess},
    {"sched_setparam", ArgumentCheck::kOwnProcess},
    {"sched_setscheduler", ArgumentCheck::kOwnProcess},
    {"sched_setaffinity", ArgumentCheck::kOwnProcess},
    {"sched_setattr", ArgumentCheck::kOwnProcess},
    {"migrate_pages", ArgumentCheck::kOwnProcess},
    {"move_pages", ArgumentCheck::kOwnProcess},
    {"setpriority", ArgumentCheck::kOwnPriority},
    {"ioprio_set", ArgumentCheck::kOwnIoPriority},
};

constexpr CheckedCall kCheckedWhenLed[] = {
    // A listener would be in the host's network.
    {"bind", ArgumentCheck::kMediatedUnix},
    {"listen", ArgumentCheck::kMediatedUnix},
    {"socket", ArgumentCheck::kTcpSocket},
    {"sendto", ArgumentCheck::kPlainSend},
    {"sendmsg", ArgumentCheck::kPlainMessage},
    {"sendmmsg", ArgumentCheck::kPlainSend},
    {"setsockopt", ArgumentCheck::kPlainOption},
};

constexpr const char* kMetadata[] = {
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime",
    "utimes", "futimesat", "utimensat",
};

constexpr const char* kTracing[] = {"ptrace", "process_vm_readv", "process_vm_writev"};

constexpr const char* kNestedNamespaces[] = {"chroot"};

struct NewCall {
  std::string_view name;
  int number;
};

// What libseccomp 2.5.4 does not know. Since Linux 5.1 a new call has the same number everywhere.
constexpr NewCall kNewCalls[] = {
    {"cachestat", 451}, {"fchmodat2", 452}, {"map_shadow_stack", 453}, {"futex_wake", 454},
    {"futex_wait", 455}, {"futex_requeue", 456}, {"statmount", 457}, {"listmount", 458},
    {"lsm_get_self_attr", 459}, {"lsm_set_self_attr", 460}, {"lsm_list_modules", 461},
    {"mseal", 462}, {"setxattrat", 463}, {"getxattrat", 464}, {"listxattrat", 465},
    {"removexattrat", 466}, {"open_tree_attr", 467}, {"file_getattr", 468},
    {"file_setattr", 469},
};
// clang-format on

constexpr int kUretprobeOnX86 = 335;

}  // namespace

std::span<const char* const> AllowedCalls() { return kAllowed; }
std::span<const RefusedCall> RefusedCalls() { return kRefused; }
std::span<const CheckedCall> CheckedCalls() { return kChecked; }
std::span<const RefusedCall> RefusedOnHost() { return kRefusedOnHost; }
std::span<const CheckedCall> CheckedOnHost() { return kCheckedOnHost; }
std::span<const CheckedCall> CheckedWhenLed() { return kCheckedWhenLed; }
std::span<const char* const> MetadataCalls() { return kMetadata; }
std::span<const char* const> TracingCalls() { return kTracing; }
std::span<const char* const> NestedNamespaceCalls() { return kNestedNamespaces; }

int CallNumber(const char* name, unsigned architecture) {
  const int number = seccomp_syscall_resolve_name_arch(architecture, name);
  if (number >= 0) return number;
  for (const NewCall& call : kNewCalls) {
    if (call.name == name) return call.number;
  }
  const bool is_uretprobe = std::string_view(name) == "uretprobe";
  return is_uretprobe && architecture == SCMP_ARCH_X86_64 ? kUretprobeOnX86 : -1;
}

}  // namespace cordon::internal
