// Taking back what a command created under names that must not exist.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "directory_reader.h"
#include "scratch.h"
#include "view.h"

namespace cordon::internal {
namespace {

constexpr mode_t kOwnerRights = 0700;

// Through the descriptor, which may be an O_PATH one: a name could be a link by now.
void GiveOwnerRights(int folder) {
  struct stat status = {};
  if (fstat(folder, &status) != 0) return;
  (void)chmod(absl::StrCat("/proc/self/fd/", folder).c_str(),
              (status.st_mode & 07777) | kOwnerRights);
}

UniqueFd StepInto(int folder, const std::string& name) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd next(openat(folder, name.c_str(), kFlags));
  if (next.valid() || errno != EACCES) return next;
  GiveOwnerRights(folder);
  return UniqueFd(openat(folder, name.c_str(), kFlags));
}

// The folder `path`, also when a command has taken the rights on it or on one above it away. A link
// in the place of one of them leads to another place, which is not the name's.
UniqueFd OpenWhateverItsRights(const std::string& path) {
  OpenedNode opened = OpenFolderAt(path);
  if (opened.fd.valid()) {
    // One that may be listed but not searched hides what it holds.
    struct stat status = {};
    if (fstat(opened.fd.get(), &status) == 0 && (status.st_mode & S_IXUSR) == 0) {
      GiveOwnerRights(opened.fd.get());
    }
    return std::move(opened.fd);
  }
  if (opened.error_number != EACCES) return {};
  UniqueFd folder(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::string_view rest = std::string_view(path).substr(1); folder.valid() && !rest.empty();) {
    const std::string name(rest.substr(0, rest.find('/')));
    folder = StepInto(folder.get(), name);
    rest.remove_prefix(name.size() == rest.size() ? name.size() : name.size() + 1);
  }
  if (!folder.valid()) return folder;
  GiveOwnerRights(folder.get());
  return UniqueFd(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void Remove(int folder, const std::string& name) {
  if (unlinkat(folder, name.c_str(), 0) == 0) return;
  if (errno == EACCES) {
    GiveOwnerRights(folder);
    if (unlinkat(folder, name.c_str(), 0) == 0) return;
  }
  // What stays is reported all the same.
  (void)RemoveTree(folder, name);
}

}  // namespace

std::vector<std::string> UndoCreatedNames(const std::vector<AbsentName>& absent) {
  std::vector<std::string> undone;
  // Most are beside each other.
  std::string parent;
  UniqueFd folder;
  for (const AbsentName& name : absent) {
    const std::string base(BaseName(name.path));
    if (std::string own = ParentPath(name.path); own != parent) {
      folder = OpenWhateverItsRights(own);
      parent = std::move(own);
    }
    if (!folder.valid()) continue;
    if (StatusOf(folder.get(), base).type == NodeType::kMissing) continue;
    Remove(folder.get(), base);
    undone.push_back(name.path);
  }
  return undone;
}

}  // namespace cordon::internal
