#include "launcher/cgroup.h"

#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#include "launcher/directory.h"
#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kRemoveFolder = 0x200;  // AT_REMOVEDIR
constexpr int kAttempts = 300;
constexpr __kernel_timespec kPause = {0, 10'000'000};
constexpr unsigned long kSignalMask = 0xff;  // CSIGNAL

// True when nothing is left of the folder.
bool Remove(int parent, const char* name) {
  const int error = ErrorOf(Call(__NR_unlinkat, parent, name, kRemoveFolder));
  return error == 0 || error == ENOENT;
}

void KillAll(int cgroup) {
  const Fd file(Call(__NR_openat, cgroup, "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (file.ok()) Call(__NR_write, file.get(), "1", 1);
}

}  // namespace

long CloneIntoCgroup(unsigned long flags, int* pidfd, int cgroup) {
  clone_args arguments = {};
  arguments.flags = (flags & ~kSignalMask) | CLONE_INTO_CGROUP;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(pidfd);
  // With CLONE_PARENT it is the caller's own, and may not be said.
  if ((flags & CLONE_PARENT) == 0) arguments.exit_signal = flags & kSignalMask;
  arguments.cgroup = static_cast<std::uint64_t>(cgroup);
  return Call(__NR_clone3, &arguments, sizeof(arguments));
}

int CheckCgroup(int cgroup) {
  // Without a signal at its end: it has to be reaped here although SIGCHLD is ignored.
  const long child = CloneIntoCgroup(0, nullptr, cgroup);
  if (child == 0) Exit(0);
  if (child < 0) return ErrorOf(child);
  return ErrorOf(Call(__NR_wait4, child, nullptr, __WALL, nullptr));
}

void SweepCgroup(int parent, const char* name) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (Remove(parent, name)) return;
    {
      const Fd own(Call(__NR_openat, parent, name, kFolderFlags));
      if (!own.ok()) return;
      KillAll(own.get());
      // The files in it are no folders, and stay.
      while (VisitNext(own.get(), [&own](const char* below) { Remove(own.get(), below); })) {
      }
    }
    if (Remove(parent, name)) return;
    Call(__NR_nanosleep, &kPause, nullptr);
  }
}

std::uint64_t CpuMicroseconds(int cpu_stat) {
  // "usage_usec N" is its first line.
  constexpr char kName[] = "usage_usec ";
  char text[64] = {};
  const long size = Call(__NR_pread64, cpu_stat, text, sizeof(text) - 1, 0);
  if (size <= 0 || !StartsWith(text, kName)) return 0;
  std::uint64_t value = 0;
  for (const char* at = text + sizeof(kName) - 1; *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return value;
}

}  // namespace cordon::launcher
