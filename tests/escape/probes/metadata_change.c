// Changes the mode or the times of a file by the call and the way that are named: WAY PATH [OTHER].
// "race-..." exchanges what a name leads to while it is changed, and prints how often it was.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <utime.h>

#include "probe.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static const struct timespec kTimes[2] = {{1000, 0}, {1000, 0}};

static long OnDescriptor(const char* way, const char* path) {
  char by_number[64];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", fd);
  if (strcmp(way, "fchmod") == 0) return fchmod(fd, 0640);
  if (strcmp(way, "futimens") == 0) return futimens(fd, kTimes);
  if (strcmp(way, "fchown") == 0) return fchown(fd, -1, getgid());
  if (strcmp(way, "by-number") == 0) return chmod(by_number, 0640);
  if (strcmp(way, "empty-path") == 0) return syscall(SYS_fchmodat2, fd, "", 0640, AT_EMPTY_PATH);
  if (strcmp(way, "lost-name") == 0) return unlink(path) != 0 ? -1 : fchmod(fd, 0640);
  errno = ENOSYS;
  return -1;
}

static long OnPath(const char* way, const char* path) {
  const struct timeval times[2] = {{1000, 0}, {1000, 0}};
  const struct utimbuf seconds = {1000, 1000};
  if (strcmp(way, "chmod") == 0) return syscall(SYS_fchmodat, AT_FDCWD, path, 0640);
  if (strcmp(way, "fchmodat2") == 0) return syscall(SYS_fchmodat2, AT_FDCWD, path, 0640, 0);
  if (strcmp(way, "set-user") == 0) return chmod(path, 04755);
  if (strcmp(way, "set-group") == 0) return chmod(path, 02755);
  if (strcmp(way, "utimensat") == 0) return utimensat(AT_FDCWD, path, kTimes, 0);
  if (strcmp(way, "now") == 0) return utimensat(AT_FDCWD, path, NULL, 0);
  if (strcmp(way, "bad-times") == 0) {
    const struct timespec bad[2] = {{0, -7}, {0, -7}};
    return syscall(SYS_utimensat, AT_FDCWD, path, bad, 0);
  }
  if (strcmp(way, "bad-pointer") == 0) return syscall(SYS_fchmodat, AT_FDCWD, (char*)8, 0640);
  if (strcmp(way, "utimes") == 0) return utimes(path, times);
  if (strcmp(way, "utime") == 0) return utime(path, &seconds);
  if (strcmp(way, "link-times") == 0) {
    return utimensat(AT_FDCWD, path, kTimes, AT_SYMLINK_NOFOLLOW);
  }
  if (strcmp(way, "chown-same") == 0) return chown(path, getuid(), getgid());
  if (strcmp(way, "chown-other") == 0) return chown(path, 12345, -1);
  if (strcmp(way, "chgrp-other") == 0) return lchown(path, -1, 12345);
  return OnDescriptor(way, path);
}

// --- races: PATH is a file to be changed, OTHER is one that must not be ---

static atomic_int stop;
static const char* first;
static const char* second;
static char text[4096];
static int descriptors[3];

// A link that leads to the folder of one or of the other.
static void* ExchangeLinks(void* unused) {
  while (!stop) {
    unlink("race-next");
    if (symlink(second, "race-next") == 0) rename("race-next", "race");
    unlink("race-next");
    if (symlink(first, "race-next") == 0) rename("race-next", "race");
  }
  return unused;
}

static void* ExchangeText(void* unused) {
  while (!stop) {
    memcpy(text, second, strlen(second) + 1);
    memcpy(text, first, strlen(first) + 1);
  }
  return unused;
}

static void* ExchangeDescriptors(void* unused) {
  while (!stop) {
    dup2(descriptors[1], descriptors[2]);
    dup2(descriptors[0], descriptors[2]);
  }
  return unused;
}

// Folders: a real one in the place of a link.
static void* ExchangeFolders(void* unused) {
  while (!stop) syscall(SYS_renameat2, AT_FDCWD, "race", AT_FDCWD, "race-link", 2);
  return unused;
}

static int Race(void* (*exchange)(void*), int by_descriptor, const char* path) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, exchange, NULL) != 0) return Say(-1);
  struct timespec end, now;
  clock_gettime(CLOCK_MONOTONIC, &end);
  int changed = 0;
  int tried = 0;
  do {
    const long result = by_descriptor ? fchmod(descriptors[2], 0755) : chmod(path, 0755);
    ++tried;
    if (result == 0) ++changed;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec - end.tv_sec < 2 && tried < 20000);
  stop = 1;
  pthread_join(thread, NULL);
  printf("%d of %d\n", changed, tried);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return Usage();
  if (argc == 3) return Say(OnPath(argv[1], argv[2]));
  first = argv[2];
  second = argv[3];
  char path[4200];
  if (Chosen(argc, argv, "race-link")) {
    if (symlink(first, "race") != 0) return Say(-1);
    snprintf(path, sizeof path, "race");
    return Race(ExchangeLinks, 0, path);
  }
  if (Chosen(argc, argv, "race-folder")) {
    // Two folders: "race" with a file, and "race-link", which leads to the other file's folder.
    mkdir("race", 0700);
    close(open("race/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (symlink(second, "race-link") != 0) return Say(-1);
    snprintf(path, sizeof path, "race/file");
    return Race(ExchangeFolders, 0, path);
  }
  if (Chosen(argc, argv, "race-text")) {
    memcpy(text, first, strlen(first) + 1);
    return Race(ExchangeText, 0, text);
  }
  if (Chosen(argc, argv, "race-descriptor")) {
    descriptors[0] = open(first, O_RDONLY | O_CLOEXEC);
    descriptors[1] = open(second, O_RDONLY | O_CLOEXEC);
    descriptors[2] = dup(descriptors[0]);
    return Race(ExchangeDescriptors, 1, NULL);
  }
  return Usage();
}
