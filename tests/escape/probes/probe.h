// A probe is a tiny program that attempts one thing and prints one word: "done" when it worked, the
// name of the error, or "usage". Probes are harmless where nothing confines them, and use system
// call numbers of their own where the C library has no function.

#ifndef CORDON_TESTS_ESCAPE_PROBES_PROBE_H_
#define CORDON_TESTS_ESCAPE_PROBES_PROBE_H_

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Prints the word for the result of a call and ends the program.
static inline int Say(long result) {
  const char* word = result >= 0 ? "done" : strerrorname_np(errno);
  puts(word != NULL ? word : "unknown");
  return 0;
}

// For a program whose first argument chooses what to attempt.
static inline int Usage(void) {
  puts("usage");
  return 2;
}

static inline int Chosen(int argc, char** argv, const char* name) {
  return argc > 1 && strcmp(argv[1], name) == 0;
}

#endif  // CORDON_TESTS_ESCAPE_PROBES_PROBE_H_
