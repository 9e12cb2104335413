#include "launcher/process_limit.h"

#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "launcher/fd.h"
#include "launcher/mount.h"
#include "launcher/status.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

constexpr std::uint64_t kReserved = 300;             // RESERVED_PIDS
constexpr std::uint64_t kLargest = 4 * 1024 * 1024;  // PID_MAX_LIMIT, on 64 bits.
constexpr char kLargestNumber[] = "sys/kernel/pid_max";
constexpr char kLastNumber[] = "sys/kernel/ns_last_pid";

// Any that is not root's. Only its being another one matters.
constexpr std::uint64_t kAnotherUser = 65534;

Fd OwnProc() {
  constexpr const char* kNoOptions[] = {nullptr};
  return NewFileSystem("proc", kNoOptions, kPlainAttributes | MOUNT_ATTR_NOEXEC);
}

int WriteNumber(int proc, const char* path, std::uint64_t value) {
  const Fd file(Call(__NR_openat, proc, path, O_WRONLY | O_CLOEXEC));
  if (!file.ok()) return file.error();
  TextBuffer<24> text;
  text.AddNumber(value);
  return ErrorOf(Call(__NR_write, file.get(), text.get(), text.size()));
}

int LimitIn(int proc, std::uint64_t count) {
  const std::uint64_t most = kLargest - kReserved;
  if (const int error =
          WriteNumber(proc, kLargestNumber, kReserved + (count < most ? count : most))) {
    return error;
  }
  // The next one is larger, so that all of those below are spent.
  return WriteNumber(proc, kLastNumber, kReserved);
}

bool BelongsToRootHere(int proc, const char* path) {
  const Fd file(Call(__NR_openat, proc, path, O_PATH | O_CLOEXEC));
  FileStatus status;
  return file.ok() && StatusOf(file.get(), &status) == 0 && status.stx_uid == 0;
}

// In namespaces whose root is another user than the host's: a setting of the pid namespace belongs
// to that one, a setting of the host to the host's, who does not exist here.
int TryInside() {
  const Fd proc = OwnProc();
  if (!proc.ok()) return proc.error();
  if (!BelongsToRootHere(proc.get(), kLargestNumber) || BelongsToRootHere(proc.get(), "version")) {
    return EOPNOTSUPP;
  }
  return LimitIn(proc.get(), 1);
}

// "0 65534 1" as the map `file` of `child`.
int WriteMap(long child, const char* file) {
  TextBuffer<64> path;
  path.Add("/proc/").AddNumber(static_cast<std::uint64_t>(child)).Add("/").Add(file);
  TextBuffer<64> map;
  map.Add("0 ").AddNumber(kAnotherUser).Add(" 1\n");
  const Fd opened(Call(__NR_openat, AT_FDCWD, path.get(), O_WRONLY | O_CLOEXEC));
  if (!opened.ok()) return opened.error();
  return ErrorOf(Call(__NR_write, opened.get(), map.get(), map.size()));
}

struct Pipe {
  Fd read;
  Fd write;
};

int MakePipe(Pipe* pipe) {
  int ends[2];
  if (const int error = ErrorOf(Call(__NR_pipe2, ends, O_CLOEXEC))) return error;
  pipe->read = Fd(ends[0]);
  pipe->write = Fd(ends[1]);
  return 0;
}

[[noreturn]] void RunInside(Pipe& pipe) {
  pipe.write = {};
  char byte;
  // Nothing comes when the maps could not be written.
  if (Call(__NR_read, pipe.read.get(), &byte, 1) != 1) Exit(EPERM);
  Exit(TryInside());
}

}  // namespace

int LimitProcesses(std::uint64_t count) {
  if (count == 0) return 0;
  const Fd proc = OwnProc();
  return proc.ok() ? LimitIn(proc.get(), count) : proc.error();
}

int CheckProcessLimit(const Identity& identity) {
  // Another group's root would not be the owner of the setting.
  if (identity.uid != 0 || identity.gid != 0) return EPERM;
  Pipe pipe;
  if (const int error = MakePipe(&pipe)) return error;
  // Without a signal at its end: it has to be reaped here although SIGCHLD is ignored.
  const long child = Call(__NR_clone, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, nullptr, nullptr,
                          nullptr, nullptr);
  if (child == 0) RunInside(pipe);
  if (child < 0) return ErrorOf(child);
  const bool mapped = WriteMap(child, "uid_map") == 0 && WriteMap(child, "gid_map") == 0;
  if (mapped) Call(__NR_write, pipe.write.get(), "", 1);
  pipe.write = {};
  int status = 0;
  if (const int error = ErrorOf(Call(__NR_wait4, child, &status, __WALL, nullptr))) return error;
  return status % 128 == 0 ? status / 256 : EIO;  // wait(2): the exit code, or a signal.
}

}  // namespace cordon::launcher
