// Attempts one thing and ends with 0 when it was done, else with the errno of what refused it:
// attacker ACT ARGUMENT... It is static and without libc, so that it runs in every sandbox.

#include <linux/fcntl.h>
#include <linux/in.h>
#include <linux/signal.h>
#include <linux/socket.h>
#include <linux/stat.h>
#include <linux/time_types.h>
#include <linux/un.h>

#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

constexpr int kUsage = 255;
constexpr int kStream = 1;
constexpr int kDatagram = 2;
constexpr int kUnixFamily = 1;
constexpr int kInternetFamily = 2;

int Number(const char* text) {
  int value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
  return value;
}

int Read(const char* path) {
  const Fd file(Call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  char byte;
  return file.ok() ? ErrorOf(Call(__NR_read, file.get(), &byte, 1)) : file.error();
}

int List(const char* path) {
  const Fd folder(Call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.error();
}

int Write(const char* path) {
  const Fd file(Call(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return file.ok() ? ErrorOf(Call(__NR_write, file.get(), "x", 1)) : file.error();
}

int ReadOf(const char* pid, const char* file) {
  TextBuffer<64> path;
  path.Add("/proc/").Add(pid).Add(file);
  return Read(path.get());
}

// Of memory that may still be grown; sets what it is already.
int Limit(const char* pid) {
  struct {
    unsigned long long soft;
    unsigned long long hard;
  } limit;
  constexpr int kFiles = 7;  // RLIMIT_NOFILE
  const int error = ErrorOf(Call(__NR_prlimit64, Number(pid), kFiles, nullptr, &limit));
  return error != 0 ? error : ErrorOf(Call(__NR_prlimit64, Number(pid), kFiles, &limit, nullptr));
}

sockaddr_in Loopback(unsigned last_byte, const char* port) {
  sockaddr_in address = {};
  address.sin_family = kInternetFamily;
  address.sin_port = __builtin_bswap16(static_cast<unsigned short>(Number(port)));
  address.sin_addr.s_addr = __builtin_bswap32(0x7f000000U | last_byte);
  return address;
}

int Connect(unsigned last_byte, const char* port) {
  const sockaddr_in address = Loopback(last_byte, port);
  const Fd socket(Call(__NR_socket, kInternetFamily, kStream, 0));
  if (!socket.ok()) return socket.error();
  return ErrorOf(Call(__NR_connect, socket.get(), &address, sizeof(address)));
}

int SendDatagram(const char* port) {
  const sockaddr_in address = Loopback(1, port);
  const Fd socket(Call(__NR_socket, kInternetFamily, kDatagram, 0));
  if (!socket.ok()) return socket.error();
  return ErrorOf(Call(__NR_sendto, socket.get(), "x", 1, 0, &address, sizeof(address)));
}

int ConnectUnix(const char* path) {
  sockaddr_un address = {};
  address.sun_family = kUnixFamily;
  for (unsigned i = 0; path[i] != '\0' && i + 1 < sizeof(address.sun_path); ++i) {
    address.sun_path[i] = path[i];
  }
  const Fd socket(Call(__NR_socket, kUnixFamily, kStream, 0));
  if (!socket.ok()) return socket.error();
  return ErrorOf(Call(__NR_connect, socket.get(), &address, sizeof(address)));
}

int HasVariable(const char* name, const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    if (StartsWith(*environment, name) && (*environment)[Length(name)] == '=') return 0;
  }
  return ENOENT;
}

// Children that wait at once; all of them are ended again.
int Fork(int count) {
  constexpr int kMost = 1024;
  int children[kMost];
  int made = 0;
  int error = 0;
  while (error == 0 && made < count && made < kMost) {
    const long pid = Call(__NR_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) {
      const __kernel_timespec long_time = {20, 0};
      Call(__NR_nanosleep, &long_time, nullptr);
      Exit(0);
    }
    error = ErrorOf(pid);
    if (error == 0) children[made++] = static_cast<int>(pid);
  }
  for (int i = 0; i < made; ++i) Call(__NR_kill, children[i], SIGKILL);
  for (int i = 0; i < made; ++i) Call(__NR_wait4, children[i], nullptr, 0, nullptr);
  return error;
}

int Act(const char* act, const char* one, const char* two, const char* const* environment) {
  if (Equal(act, "read")) return Read(one);
  if (Equal(act, "list")) return List(one);
  if (Equal(act, "write")) return Write(one);
  if (Equal(act, "mode")) return ErrorOf(Call(__NR_fchmodat, AT_FDCWD, one, 0600));
  if (Equal(act, "times")) return ErrorOf(Call(__NR_utimensat, AT_FDCWD, one, nullptr, 0));
  if (Equal(act, "move")) return ErrorOf(Call(__NR_renameat2, AT_FDCWD, one, AT_FDCWD, two, 0));
  if (Equal(act, "link")) return ErrorOf(Call(__NR_linkat, AT_FDCWD, one, AT_FDCWD, two, 0));
  if (Equal(act, "remove")) return ErrorOf(Call(__NR_unlinkat, AT_FDCWD, one, 0));
  if (Equal(act, "truncate")) return ErrorOf(Call(__NR_truncate, one, 0));
  if (Equal(act, "signal")) return ErrorOf(Call(__NR_kill, Number(one), SIGCONT));
  if (Equal(act, "limit")) return Limit(one);
  if (Equal(act, "environment")) return ReadOf(one, "/environ");
  if (Equal(act, "arguments")) return ReadOf(one, "/cmdline");
  if (Equal(act, "connect")) return Connect(1, one);
  if (Equal(act, "connect-second")) return Connect(2, one);
  if (Equal(act, "datagram")) return SendDatagram(one);
  if (Equal(act, "unix")) return ConnectUnix(one);
  if (Equal(act, "variable")) return HasVariable(one, environment);
  if (Equal(act, "fork")) return Fork(Number(one));
  if (Equal(act, "wait")) {
    const __kernel_timespec time = {Number(one), 0};
    return ErrorOf(Call(__NR_nanosleep, &time, nullptr));
  }
  return kUsage;
}

}  // namespace
}  // namespace cordon::launcher

// As of the launcher: what execve(2) leaves on the stack.
extern "C" [[noreturn]] void LauncherMain(const long* stack) {
  using namespace cordon::launcher;
  const long count = stack[0];
  const auto* arguments = reinterpret_cast<const char* const*>(stack + 1);
  if (count < 3) Exit(kUsage);
  Exit(Act(arguments[1], arguments[2], count > 3 ? arguments[3] : "", arguments + count + 1));
}
