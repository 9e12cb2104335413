// Connects to a unix socket: "path NAME", "abstract NAME", or "own NAME" for one that it makes.
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "probe.h"

int main(int argc, char** argv) {
  if (argc != 3) return Usage();
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  const int abstract = Chosen(argc, argv, "abstract");
  const size_t length = strlen(argv[2]);
  memcpy(address.sun_path + abstract, argv[2], length);
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (Chosen(argc, argv, "own")) {
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server, (struct sockaddr*)&address, size) != 0 || listen(server, 1) != 0) {
      return Say(-1);
    }
  }
  return Say(connect(fd, (struct sockaddr*)&address, abstract ? size : (socklen_t)sizeof address));
}
