// Taking back what a command created under names that must not exist.

#include <fcntl.h>
#include <unistd.h>

#include "directory_reader.h"
#include "scratch.h"
#include "view.h"

namespace cordon::internal {

std::vector<std::string> UndoCreatedNames(const std::vector<AbsentName>& absent) {
  std::vector<std::string> undone;
  for (const AbsentName& name : absent) {
    // A folder above it that is a link now leads to another place, which is not the name's.
    const OpenedNode folder = OpenFolderAt(ParentPath(name.path));
    const std::string base(BaseName(name.path));
    if (!folder.fd.valid()) continue;
    if (StatusOf(folder.fd.get(), base).type == NodeType::kMissing) continue;
    if (unlinkat(folder.fd.get(), base.c_str(), 0) != 0) {
      // What stays is reported all the same.
      (void)RemoveTree(folder.fd.get(), base);
    }
    undone.push_back(name.path);
  }
  return undone;
}

}  // namespace cordon::internal
