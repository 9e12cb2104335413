// For tests: nothing may leave descriptors behind.

#ifndef CORDON_SANDBOX_SRC_DESCRIPTOR_TESTING_H_
#define CORDON_SANDBOX_SRC_DESCRIPTOR_TESTING_H_

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

#include "support/catch.h"

namespace cordon::internal::testing {

// What each open descriptor of this process is.
[[nodiscard]] inline std::map<int, std::string> OpenDescriptors() {
  std::map<int, std::string> open;
  DIR* listing = opendir("/proc/self/fd");
  REQUIRE(listing != nullptr);
  while (const dirent* entry = readdir(listing)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(listing)) continue;
    char target[4096];
    const std::string link = "/proc/self/fd/" + std::string(entry->d_name);
    const ssize_t size = readlink(link.c_str(), target, sizeof target);
    if (size > 0) open.emplace(fd, std::string(target, static_cast<std::size_t>(size)));
  }
  closedir(listing);
  return open;
}

// Fails the test whose scope it lives in when that leaves other descriptors than it found. Declare
// it first.
class DescriptorGuard {
 public:
  DescriptorGuard() = default;
  DescriptorGuard(const DescriptorGuard&) = delete;
  DescriptorGuard& operator=(const DescriptorGuard&) = delete;
  ~DescriptorGuard() { CHECK(OpenDescriptors() == before_); }

 private:
  const std::map<int, std::string> before_ = OpenDescriptors();
};

}  // namespace cordon::internal::testing

#endif  // CORDON_SANDBOX_SRC_DESCRIPTOR_TESTING_H_
