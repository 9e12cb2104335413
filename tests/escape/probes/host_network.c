// Talks to a port of 127.0.0.1: "tcp", "fastopen", "udp" or "connected-udp", and the number.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "probe.h"

int main(int argc, char** argv) {
  if (argc != 3) return Usage();
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)atoi(argv[2]));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int datagrams = Chosen(argc, argv, "udp") || Chosen(argc, argv, "connected-udp");
  const int fd = socket(AF_INET, datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);
  if (fd < 0) return Say(fd);
  const struct sockaddr* to = (const struct sockaddr*)&address;
  if (Chosen(argc, argv, "fastopen")) {
    return Say(sendto(fd, "x", 1, MSG_FASTOPEN, to, sizeof address));
  }
  if (Chosen(argc, argv, "udp")) {
    // A refusal comes back to the second one.
    sendto(fd, "x", 1, 0, to, sizeof address);
    return Say(sendto(fd, "x", 1, 0, to, sizeof address));
  }
  return Say(connect(fd, to, sizeof address));
}
