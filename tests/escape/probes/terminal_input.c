// Pushes a character into the input of its own controlling terminal, a new one: the request number
// plain, or with bits that the kernel ignores.
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "probe.h"

int main(int argc, char** argv) {
  unsigned long request = TIOCSTI;
  if (Chosen(argc, argv, "high-bit")) request |= 1UL << 32;
  if (Chosen(argc, argv, "all-high-bits")) request |= 0xffffffffUL << 32;
  if (Chosen(argc, argv, "console")) request = TIOCLINUX;
  int master, slave;
  if (openpty(&master, &slave, NULL, NULL, NULL) != 0) {
    puts("no-terminal");
    return 1;
  }
  if (fork() != 0) return wait(NULL) < 0;  // The leader of a process group cannot start a session.
  setsid();
  ioctl(slave, TIOCSCTTY, 0);
  char byte = argc > 1 && request == TIOCLINUX ? 2 : 'x';
  return Say(syscall(SYS_ioctl, slave, request, &byte));
}
