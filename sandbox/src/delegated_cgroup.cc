#include "delegated_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

constexpr char kOwnLeaf[] = "cordon";

absl::Status Unavailable(const std::string& message) {
  return MakeError(ErrorCode::kUnavailable, message);
}

// The words of a file of the kernel's; none when it cannot be read.
std::vector<std::string> Words(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

bool Has(const std::vector<std::string>& words, std::string_view word) {
  for (const std::string& one : words) {
    if (one == word) return true;
  }
  return false;
}

bool CanWrite(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

absl::Status CheckCanHold(const std::string& cgroup) {
  const std::vector<std::string> controllers = Words(cgroup + "/cgroup.controllers");
  for (const char* needed : {"memory", "pids"}) {
    if (Has(controllers, needed)) continue;
    return Unavailable(absl::StrFormat("the cgroup %s has no %s controller", cgroup, needed));
  }
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"}) {
    if (CanWrite(cgroup + file)) continue;
    return Unavailable(absl::StrFormat("the cgroup %s is not this user's to write", cgroup));
  }
  if (!Words(cgroup + "/cgroup.procs").empty()) {
    return Unavailable(absl::StrFormat(
        "there are processes in the cgroup %s itself: it can only hold others, so they have to be "
        "in one below it",
        cgroup));
  }
  return absl::OkStatus();
}

// One in which a service manager lives is its own to manage, whoever delegated it.
bool IsManaged(const std::string& cgroup) {
  return access((cgroup + "/init.scope").c_str(), F_OK) == 0;
}

bool WriteTo(const std::string& path, std::string_view text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// After `LeaveDelegatedCgroup`.
absl::StatusOr<std::string> DelegatedThatWasLeft(const CgroupPlaces& places) {
  const absl::StatusOr<std::string> own = OwnCgroup(places);
  if (!own.ok()) return own.status();
  if (BaseName(*own) == kOwnLeaf) return ParentPath(*own);
  return Unavailable(absl::StrFormat(
      "this program is not alone in its cgroup %s, so it could not leave that", *own));
}

// The one above this program's own, if it is marked.
absl::StatusOr<std::string> MarkedAbove(const CgroupPlaces& places) {
  const absl::StatusOr<std::string> own = OwnCgroup(places);
  if (!own.ok()) return own.status();
  std::string above = ParentPath(*own);
  if (*own != places.mount && places.is_delegated(above) && !IsManaged(above)) return above;
  if (places.is_delegated(*own)) {
    return Unavailable(absl::StrFormat(
        "the cgroup %s was delegated, but this program and others are in it themselves", *own));
  }
  return Unavailable(
      absl::StrFormat("no cgroup above that of this program, %s, was delegated to it", *own));
}

}  // namespace

bool IsMarkedDelegated(const std::string& cgroup) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    char value[2] = {};
    if (getxattr(cgroup.c_str(), name, value, sizeof(value)) == 1 && value[0] == '1') return true;
  }
  return false;
}

absl::StatusOr<std::string> OwnCgroup(const CgroupPlaces& places) {
  constexpr std::string_view kUnified = "0::";
  std::ifstream file(places.own);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(kUnified, 0) != 0) continue;
    std::string path = line.substr(kUnified.size());
    // Beyond the root of this program's cgroup namespace nothing can be named.
    if (path.empty() || path[0] != '/' || path.rfind("/..", 0) == 0) break;
    if (Words(places.mount + "/cgroup.controllers").empty()) break;
    return path == "/" ? places.mount : places.mount + path;
  }
  return Unavailable(absl::StrFormat(
      "no cgroup of version 2 with controllers is mounted at %s for this program", places.mount));
}

absl::StatusOr<std::string> FindDelegatedCgroup(const std::string& named,
                                                const CgroupPlaces& places) {
  absl::StatusOr<std::string> cgroup = named;
  if (named.empty()) {
    cgroup = MarkedAbove(places);
  } else if (named == kOwnDelegated) {
    cgroup = DelegatedThatWasLeft(places);
  } else if (named[0] != '/') {
    cgroup = Unavailable(absl::StrFormat("the cgroup %s is no absolute path", named));
  }
  if (!cgroup.ok()) return cgroup;
  absl::Status status = CheckCanHold(*cgroup);
  if (!status.ok()) return status;
  return cgroup;
}

void LeaveDelegatedCgroup(bool said_to_be, const CgroupPlaces& places) {
  const absl::StatusOr<std::string> own = OwnCgroup(places);
  if (!own.ok() || IsManaged(*own) || !(said_to_be || places.is_delegated(*own))) return;
  const std::vector<std::string> processes = Words(*own + "/cgroup.procs");
  if (processes != std::vector<std::string>{absl::StrCat(getpid())}) return;
  const std::string leaf = absl::StrCat(*own, "/", kOwnLeaf);
  if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return;
  if (!WriteTo(leaf + "/cgroup.procs", "0")) (void)rmdir(leaf.c_str());
}

}  // namespace cordon::internal
