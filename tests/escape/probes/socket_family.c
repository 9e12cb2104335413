// Makes a socket of the family that the argument names.
#include <sys/socket.h>

#include "probe.h"

static const struct {
  const char* name;
  int family, type, protocol;
} kSockets[] = {
    {"unix", AF_UNIX, SOCK_STREAM, 0},
    {"unix-datagram", AF_UNIX, SOCK_DGRAM, 0},
    {"unix-raw", AF_UNIX, SOCK_RAW, 0},
    {"tcp", AF_INET, SOCK_STREAM, 0},
    {"udp", AF_INET, SOCK_DGRAM, 0},
    {"tcp6", AF_INET6, SOCK_STREAM, 0},
    {"netlink-route", AF_NETLINK, SOCK_RAW, 0},
    {"netlink-diag", AF_NETLINK, SOCK_RAW, 4},
    {"netlink-audit", AF_NETLINK, SOCK_RAW, 9},
    {"netlink-uevent", AF_NETLINK, SOCK_RAW, 15},
    {"netlink-generic", AF_NETLINK, SOCK_RAW, 16},
    {"mptcp", AF_INET, SOCK_STREAM, 262},
    {"raw", AF_INET, SOCK_RAW, 1},
    {"ping", AF_INET, SOCK_DGRAM, 1},
    {"packet", AF_PACKET, SOCK_RAW, 0x0300},
    {"vsock", AF_VSOCK, SOCK_STREAM, 0},
    {"crypto", AF_ALG, SOCK_SEQPACKET, 0},
    {"bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
    {"can", AF_CAN, SOCK_RAW, 1},
    {"xdp", 44, SOCK_RAW, 0},
};

int main(int argc, char** argv) {
  for (unsigned i = 0; i < sizeof kSockets / sizeof *kSockets; ++i) {
    if (Chosen(argc, argv, kSockets[i].name)) {
      return Say(socket(kSockets[i].family, kSockets[i].type, kSockets[i].protocol));
    }
  }
  return Usage();
}
