#include "launcher/loopback.h"

#include <cstdint>

#include "launcher/fd.h"

namespace cordon::launcher {
namespace {

// netdevice(7); the C headers that declare these need libc's.
constexpr int kFamilyInet = 2;
constexpr int kSocketDatagram = 2;
constexpr int kSocketCloseOnExec = 02000000;
constexpr int kSetInterfaceFlags = 0x8914;  // SIOCSIFFLAGS
constexpr std::int16_t kInterfaceUp = 1;    // IFF_UP

struct InterfaceRequest {  // struct ifreq
  char name[16];
  std::int16_t flags;
  char reserved[22];
};

}  // namespace

int RaiseLoopback() {
  const Fd socket(Call(__NR_socket, kFamilyInet, kSocketDatagram | kSocketCloseOnExec, 0));
  if (!socket.ok()) return socket.error();
  InterfaceRequest request = {"lo", kInterfaceUp, {}};
  return ErrorOf(Call(__NR_ioctl, socket.get(), kSetInterfaceFlags, &request));
}

}  // namespace cordon::launcher
