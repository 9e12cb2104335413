// Has its parent trace it, which then gets to know of every signal, and does one thing.
#include <signal.h>
#include <sys/ptrace.h>

#include "probe.h"

int main(int argc, char** argv) {
  if (Chosen(argc, argv, "again")) return Say(0);
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) return Say(-1);
  if (Chosen(argc, argv, "stop")) {
    raise(SIGTRAP);
    return Say(0);
  }
  if (Chosen(argc, argv, "execute")) {
    execl(argv[0], argv[0], "again", NULL);
    return Say(-1);
  }
  if (Chosen(argc, argv, "terminate")) {
    raise(SIGTERM);
    return Say(0);
  }
  return Usage();
}
