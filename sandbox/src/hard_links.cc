#include "hard_links.h"

#include <utility>

#include "directory_reader.h"

namespace cordon::internal {

const HardLinks::Found& HardLinks::Find(const WorkspaceIndex& index,
                                        std::vector<std::string> paths) {
  // A new name shows in its folder, and the index has read that again.
  if (is_known_ && index.folders_read() == 0 && paths == paths_) return found_;
  is_known_ = true;
  paths_ = std::move(paths);
  seen_ = 0;
  files_.clear();
  found_ = {};
  for (const std::string& path : paths_) Collect(path);
  if (!files_.empty()) found_.names = index.NamesOf(files_);
  return found_;
}

void HardLinks::Collect(const std::string& path) {
  std::vector<std::string> pending = {path};
  while (!pending.empty()) {
    const std::string next = std::move(pending.back());
    pending.pop_back();
    if (++seen_ > kMaxNames) {
      found_.complete = false;
      return;
    }
    const NodeStatus status = StatusOf(next);
    if (status.type == NodeType::kFile && status.links > 1) {
      files_.insert({status.stamp.device, status.stamp.inode});
    }
    if (status.type != NodeType::kFolder) continue;
    const OpenedNode folder = OpenFolderAt(next);
    // What its owner may not list holds no name that a command could have made.
    if (!folder.fd.valid()) continue;
    (void)ReadNames(folder.fd.get(), [&](std::string_view name, NodeType type, std::uint64_t) {
      const bool is_of_interest = type == NodeType::kFile || type == NodeType::kFolder;
      if (is_of_interest) pending.push_back(JoinPath(next, name));
    });
  }
}

}  // namespace cordon::internal
