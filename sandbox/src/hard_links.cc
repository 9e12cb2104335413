#include "hard_links.h"

#include <optional>
#include <utility>

#include "directory_reader.h"
#include "host_looks.h"

namespace cordon::internal {

const HardLinks::Found& HardLinks::Find(const WorkspaceIndex& index,
                                        std::vector<std::string> paths) {
  // A new name shows in its folder, and the index has read that again.
  const bool is_same = generation_ == index.generation() && paths == paths_;
  if (is_same && seen_ > kMaxNoted) return found_;
  generation_ = index.generation();
  paths_ = std::move(paths);
  seen_ = 0;
  files_.clear();
  found_ = {};
  Collect();
  const HostJournal::Unnoted unnoted;  // What the index holds has its own memory.
  if (!files_.empty()) found_.names = index.NamesOf(files_);
  return found_;
}

void HardLinks::Collect() {
  for (const std::string& path : paths_) CollectFrom(path);
}

void HardLinks::CollectFrom(const std::string& path) {
  std::optional<HostJournal::Unnoted> unnoted;
  std::vector<std::string> pending = {path};
  while (!pending.empty()) {
    const std::string next = std::move(pending.back());
    pending.pop_back();
    if (++seen_ > kMaxNames) {
      found_.complete = false;
      return;
    }
    if (seen_ > kMaxNoted && !unnoted.has_value()) unnoted.emplace();
    const FileAt file = LookAtFile(next);
    if (file.type == NodeType::kFile && file.has_other_names) {
      files_.insert({file.device, file.inode});
    }
    if (file.type != NodeType::kFolder) continue;
    // What its owner may not list holds no name that a command could have made.
    (void)ListFolder(next, [&](std::string_view name, NodeType type) {
      const bool is_of_interest = type == NodeType::kFile || type == NodeType::kFolder;
      if (is_of_interest) pending.push_back(JoinPath(next, name));
    });
  }
}

}  // namespace cordon::internal
