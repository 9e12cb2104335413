#include "process_listing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cordon::internal {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

ProcessListing::~ProcessListing() {
  if (!handle_.valid()) return;
  for (const std::string& name : names_) (void)unlinkat(handle_.get(), name.c_str(), AT_REMOVEDIR);
  (void)rmdir(folder_.c_str());
}

UniqueFd ProcessListing::Open(const std::vector<pid_t>& processes) {
  if (!handle_.valid()) {
    if (mkdir(folder_.c_str(), 0700) != 0) return UniqueFd();
    handle_.Reset(open(folder_.c_str(), kFolderFlags));
  }
  std::set<std::string> wanted;
  for (const pid_t process : processes) wanted.insert(std::to_string(process));
  for (const std::string& name : names_) {
    if (!wanted.contains(name)) (void)unlinkat(handle_.get(), name.c_str(), AT_REMOVEDIR);
  }
  for (const std::string& name : wanted) {
    if (!names_.contains(name) && mkdirat(handle_.get(), name.c_str(), 0500) != 0 &&
        errno != EEXIST) {
      return UniqueFd();
    }
  }
  names_ = std::move(wanted);
  return UniqueFd(openat(handle_.get(), ".", kFolderFlags));
}

}  // namespace cordon::internal
