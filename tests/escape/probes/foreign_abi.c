// Calls getpid(2) by another calling convention of the processor.
#include "probe.h"

int main(int argc, char** argv) {
#ifdef __x86_64__
  if (Chosen(argc, argv, "i386")) {
    long result = 20;  // getpid in the numbers of i386.
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? (int)-result : 0;
    return Say(result);
  }
  if (Chosen(argc, argv, "x32")) return Say(syscall(0x40000000L | SYS_getpid));
  if (Chosen(argc, argv, "native")) return Say(syscall(SYS_getpid));
#else
  (void)argc, (void)argv;
  puts("unsupported");
#endif
  return Usage();
}
