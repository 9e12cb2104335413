#include "launcher_start.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "cordon/sdk/status.h"
#include "launcher_protocol.h"

extern "C" {
extern const char cordon_launcher_image[];
extern const char cordon_launcher_image_end[];
#ifdef CORDON_THREAD_SANITIZER
// ThreadSanitizer takes every clone(2) for a fork, and switches itself off in the child: with
// CLONE_VM that is here. glibc's other name for it is left alone.
int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);
#define clone __clone
#endif
}

namespace cordon::internal {
namespace {

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3
#endif

absl::Status CannotStart(int error_number, std::string_view what) {
  const std::string why = std::generic_category().message(error_number);
  return MakeError(ErrorCode::kUnavailable,
                   "cannot start the launcher: " + std::string(what) + ": " + why);
}

int WriteImage(int file) {
  std::string_view rest = LauncherProgram();
  while (!rest.empty()) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Descriptors that are moved into the child's fixed places must not lie in those places already.
UniqueFd MoveUp(UniqueFd fd) {
  constexpr int kAboveFixed = 16;
  return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kAboveFixed));
}

absl::StatusOr<UniqueFd> ImageInMemory() {
  constexpr char kName[] = "cordon-launcher";
  UniqueFd file(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC));
  if (!file.valid() && errno == EINVAL) {
    file = UniqueFd(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!file.valid()) return CannotStart(errno, "memfd_create");
  if (const int error = WriteImage(file.get())) return CannotStart(error, "write to the memfd");
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return CannotStart(errno, "seal the memfd");
  return MoveUp(std::move(file));
}

// Opened anew for reading: a file that is open for writing cannot be executed (ETXTBSY).
absl::StatusOr<UniqueFd> ImageInFile(const std::string& directory) {
  std::string path = directory + "/cordon-launcher-XXXXXX";
  UniqueFd writer(mkostemp(path.data(), O_CLOEXEC));
  if (!writer.valid()) return CannotStart(errno, "make a file in " + directory);
  int error = WriteImage(writer.get());
  if (error == 0 && fchmod(writer.get(), 0700) != 0) error = errno;
  UniqueFd reader(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (error == 0 && !reader.valid()) error = errno;
  unlink(path.c_str());
  if (error != 0) return CannotStart(error, "write a file in " + directory);
  return MoveUp(std::move(reader));
}

// Everything that the children need, prepared before they exist.
struct Birth {
  int image = -1;
  int socket = -1;
  int host = -1;
  int null = -1;
  int pidfd = -1;  // Written by the first child.
  int error = 0;   // Written by either.
  void* stack_top = nullptr;
};

constexpr std::size_t kStackBytes = 64 * 1024;

// The children share memory with the suspended caller and run only system calls, without what a
// sanitizer would add: they leave functions in ways that its bookkeeping does not expect.
#define CORDON_RUNS_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

CORDON_RUNS_IN_CHILD int Execute(void* argument) {
  auto* birth = static_cast<Birth*>(argument);
  for (int fd = 0; fd < 3; ++fd) {
    if (syscall(SYS_dup3, birth->null, fd, 0) < 0) birth->error = errno;
  }
  if (syscall(SYS_dup3, birth->socket, kLauncherSocket, 0) < 0) birth->error = errno;
  if (syscall(SYS_dup3, birth->host, kLauncherHost, 0) < 0) birth->error = errno;
  if (birth->error != 0) return 1;
  char name[] = "cordon-launcher";
  char* const argv[] = {name, nullptr};
  char* const environment[] = {nullptr};
  syscall(SYS_execveat, birth->image, "", argv, environment, AT_EMPTY_PATH);
  birth->error = errno;
  return 1;
}

// Ends at once, so that the program is nobody's child that would wait for it. Shares the table of
// descriptors with the caller, into which the pidfd goes.
CORDON_RUNS_IN_CHILD int MakeGrandchild(void* argument) {
  auto* birth = static_cast<Birth*>(argument);
  const int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
  char* top = static_cast<char*>(birth->stack_top) - kStackBytes / 2;
  if (clone(Execute, top, flags, birth, &birth->pidfd) < 0) birth->error = errno;
  return 0;
}

class Stack {
 public:
  Stack()
      : bottom_(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~Stack() {
    if (valid()) munmap(bottom_, kStackBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  [[nodiscard]] bool valid() const { return bottom_ != MAP_FAILED; }
  [[nodiscard]] void* top() const { return static_cast<char*>(bottom_) + kStackBytes; }

 private:
  void* bottom_;
};

// No signal handler of the caller may run in a child that shares its memory: all are blocked, also
// those that libc keeps for itself.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_, &before_, sizeof(all_)); }
  ~AllSignalsBlocked() {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_));
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  std::uint64_t all_ = ~std::uint64_t{0};
  std::uint64_t before_ = 0;
};

// Returns an errno.
int GiveBirth(Birth* birth) {
  const Stack stack;
  if (!stack.valid()) return ENOMEM;
  birth->stack_top = stack.top();
  const AllSignalsBlocked blocked;
  // No exit signal: invisible to SIGCHLD and to wait(2) without __WALL.
  const int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES;
  const int child = clone(MakeGrandchild, stack.top(), flags, birth);
  if (child < 0) return errno;
  while (waitpid(child, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  return birth->error;
}

absl::StatusOr<StartedLauncher> StartImage(const UniqueFd& image) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return CannotStart(errno, "socketpair");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs = MoveUp(UniqueFd(ends[1]));
  const UniqueFd host = MoveUp(UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))));
  const UniqueFd null = MoveUp(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)));
  if (!theirs.valid() || !host.valid() || !null.valid()) {
    return CannotStart(errno, "open what it needs");
  }
  Birth birth;
  birth.image = image.get();
  birth.socket = theirs.get();
  birth.host = host.get();
  birth.null = null.get();
  const int error = GiveBirth(&birth);
  UniqueFd pidfd(birth.pidfd);
  if (error != 0) return CannotStart(error, "execute it");
  return StartedLauncher{std::move(ours), std::move(pidfd)};
}

}  // namespace

std::string_view LauncherProgram() {
  return {cordon_launcher_image,
          static_cast<std::size_t>(cordon_launcher_image_end - cordon_launcher_image)};
}

absl::StatusOr<StartedLauncher> StartLauncher(LauncherImage image, const std::string& directory) {
  absl::StatusOr<UniqueFd> file =
      image == LauncherImage::kMemory ? ImageInMemory() : ImageInFile(directory);
  if (!file.ok()) return file.status();
  if (!file->valid()) return CannotStart(errno, "keep its image");
  return StartImage(*file);
}

}  // namespace cordon::internal
