// For tests that mount something, which they do in a child with a mount namespace of its own.

#ifndef CORDON_SANDBOX_SRC_MOUNT_TESTING_H_
#define CORDON_SANDBOX_SRC_MOUNT_TESTING_H_

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "cordon/sdk/unique_fd.h"
#include "support/catch.h"

namespace cordon::internal::testing {

// What `act` returns, in a child: 0 is as it should be. Ended by a signal, it is 128 and that.
inline int InChild(const std::function<int()>& act) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      _exit(act());
    } catch (...) {  // Else the child would go on with the other tests.
      _exit(99);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline bool WriteText(const char* path, const std::string& text) {
  const UniqueFd file(open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() && write(file.get(), text.data(), text.size()) == std::ssize(text);
}

// From now on this process may mount, and nobody else sees it. False where the host forbids that.
inline bool EnterMountNamespace() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (user == "0") {
    if (unshare(CLONE_NEWNS) != 0) return false;
  } else if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
             !WriteText("/proc/self/setgroups", "deny") ||
             !WriteText("/proc/self/uid_map", user + " " + user + " 1") ||
             !WriteText("/proc/self/gid_map", group + " " + group + " 1")) {
    return false;
  }
  return mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_MOUNT_TESTING_H_
