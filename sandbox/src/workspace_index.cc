#include "workspace_index.h"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "tree_walk.h"

namespace cordon::internal {
namespace {

// Watching pays when folders are many, and looked at more often than for a single command: when the
// set is made, which is not counted, before the command, and after it.
constexpr std::size_t kFewFolders = 64;
constexpr std::size_t kRefreshesUnwatched = 3;

// To store an index costs as much as to read some of its folders, and what is walked in a few
// milliseconds is nothing to leave a file behind for.
constexpr std::size_t kFewFoldersToKeep = 128;
constexpr std::size_t kFewReads = 32;
constexpr std::size_t kSmallPart = 32;

}  // namespace

WorkspaceIndex::WorkspaceIndex(std::unique_ptr<IndexCache> cache) : cache_(std::move(cache)) {}
WorkspaceIndex::~WorkspaceIndex() = default;

absl::Status WorkspaceIndex::Refresh(const IndexRequest& request) {
  const bool same_request = request == request_ && filter_ != nullptr && complete_;
  if (!same_request) Accept(request);
  StartWatching();
  const bool changed = watches_ == nullptr || watches_->Drain();
  folders_read_ = 0;
  if (same_request && !changed && folders_unwatched_ == 0 && RootsAreSame()) {
    return absl::OkStatus();
  }
  if (same_request && folders_ < kFewFolders && FewAreSame()) return absl::OkStatus();
  folders_ = folders_unwatched_ = names_ = 0;
  mounts_.reset();
  const IndexContents before = std::exchange(contents_, {});
  absl::Status status = RefreshTrees();
  reads_not_kept_ += folders_read_;
  complete_ = status.ok();
  if (complete_) {
    Collect();
  } else {
    trees_.clear();
  }
  if (!complete_ || folders_read_ != 0 || contents_ != before) ++generation_;
  return status;
}

void WorkspaceIndex::Keep() {
  if (cache_ == nullptr || !complete_ || folders_ < kFewFoldersToKeep) return;
  if (reads_not_kept_ < std::max(kFewReads, folders_ / kSmallPart)) return;
  cache_->Save(request_, trees_);
  reads_not_kept_ = 0;
}

void WorkspaceIndex::StartWatching() {
  if (watches_ != nullptr || folders_ < kFewFolders) return;
  if (++refreshes_ == kRefreshesUnwatched) watches_ = FolderWatches::Start();
}

// The folders above a root are not watched.
bool WorkspaceIndex::RootsAreSame() const {
  return std::all_of(trees_.begin(), trees_.end(), [](const auto& tree) {
    if (tree.second->incomplete) return true;  // It would be given up again.
    const FolderRecord& top = tree.second->top;
    const OpenedNode root = OpenFolderAt(tree.first);
    if (!root.fd.valid()) {
      return root.error_number != EACCES && top.state == FolderRecord::State::kUnread;
    }
    return top.state == FolderRecord::State::kListed && StatusOf(root.fd.get()).stamp == top.stamp;
  });
}

// Without a walk and without collecting again what was found. What is no plain answer is left to
// these.
bool WorkspaceIndex::FewAreSame() const {
  return std::all_of(trees_.begin(), trees_.end(), [](const auto& entry) {
    const IndexTree& tree = *entry.second;
    const OpenedNode root = OpenFolderAt(entry.first);
    return root.fd.valid() && !tree.incomplete && IsSame(root.fd.get(), "", tree.top, tree.mount);
  });
}

bool WorkspaceIndex::IsSame(int root, const std::string& relative, const FolderRecord& record,
                            std::uint64_t mount) {
  if (record.state != FolderRecord::State::kListed || record.may_change_unnoticed) return false;
  const NodeStatus now = relative.empty() ? StatusOf(root) : StatusOf(root, relative);
  if (now.mount != mount || !record.IsOf(now)) return false;
  return std::all_of(record.children.begin(), record.children.end(), [&](const auto& child) {
    return IsSame(root, JoinPath(relative, child.name), *child.record, mount);
  });
}

// What is known stays known when only other roots are asked for, e.g. those of a grant.
void WorkspaceIndex::Accept(const IndexRequest& request) {
  const bool same_rules = filter_ != nullptr && request.patterns == request_.patterns &&
                          request.skip == request_.skip &&
                          request.whole_repositories == request_.whole_repositories;
  request_ = request;
  if (same_rules) return;
  const bool is_first = filter_ == nullptr;
  trees_.clear();
  if (is_first && cache_ != nullptr) trees_ = cache_->Load(request);
  std::vector<std::string> patterns;
  patterns.reserve(request.patterns.size());
  for (const IndexPattern& pattern : request.patterns) patterns.push_back(pattern.text);
  filter_ = std::make_unique<GlobFilter>(patterns);
  skip_ = {request.skip.begin(), request.skip.end()};
}

absl::Status WorkspaceIndex::RefreshTrees() {
  IndexTrees before = std::exchange(trees_, {});
  const auto refresh = [&](const std::string& root, bool optional) {
    std::unique_ptr<IndexTree>& tree = trees_[root];
    if (tree != nullptr) return absl::OkStatus();
    const auto known = before.find(root);
    tree = known != before.end() ? std::move(known->second) : std::make_unique<IndexTree>();
    tree->optional = optional;
    return RefreshTree(root, *tree);
  };
  for (const std::string& root : request_.optional_roots) {
    absl::Status status = refresh(root, true);
    if (!status.ok()) return status;
  }
  queue_ = request_.roots;  // Grows by the mounts that are found.
  while (!queue_.empty()) {
    const std::string root = std::move(queue_.back());
    queue_.pop_back();
    absl::Status status = refresh(root, false);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WorkspaceIndex::RefreshTree(const std::string& root, IndexTree& tree) {
  if (tree.incomplete) return absl::OkStatus();  // It would be given up again.
  tree.path = root;
  OpenedNode opened = OpenFolderAt(root);
  tree.root = std::move(opened.fd);
  if (!tree.root.valid()) {
    tree.top.Clear();
    tree.top.state = opened.error_number == EACCES ? FolderRecord::State::kUnlisted
                                                   : FolderRecord::State::kUnread;
    return absl::OkStatus();
  }
  tree.keeps_times = FolderWatches::IsWatchable(tree.root.get());
  tree.watchable = watches_ != nullptr && tree.keeps_times;
  // Seen through another mount, nothing of it need be what it was.
  const std::uint64_t mount = StatusOf(tree.root.get()).mount;
  if (mount != std::exchange(tree.mount, mount)) tree.top.Forget();
  TreeWalk walk(LookRules{&request_, filter_.get(), &skip_, watches_.get()}, tree, names_);
  absl::Status status = walk.Run();
  tree.root.Reset();
  const WalkResult& result = walk.result();
  folders_ += result.folders;
  folders_unwatched_ += result.folders_unwatched;
  folders_read_ += result.folders_read;
  tree.names = result.names;
  names_ += tree.names;
  if (!tree.optional) {
    for (const std::string& path : result.other_mounts) NoteMount(path);
  }
  return status;
}

void WorkspaceIndex::NoteMount(const std::string& path) {
  if (!mounts_.has_value()) mounts_ = MountTable::OfThisProcess();
  if (mounts_->IsLocal(path)) {
    contents_.mounts.push_back(path);
    queue_.push_back(path);
  } else {
    contents_.foreign_mounts.push_back(path);
  }
}

void WorkspaceIndex::Collect() {
  for (const auto& [root, tree] : trees_) {
    if (tree->incomplete) contents_.incomplete.push_back(root);
    std::vector<std::pair<const FolderRecord*, std::string>> pending;
    pending.emplace_back(&tree->top, root);
    while (!pending.empty()) {
      const auto [record, path] = std::move(pending.back());
      pending.pop_back();
      CollectFolder(*record, path);
      for (const FolderRecord::Child& child : record->children) {
        pending.emplace_back(child.record.get(), JoinPath(path, child.name));
      }
    }
  }
  const auto sort = [](std::vector<std::string>& list) { std::sort(list.begin(), list.end()); };
  std::sort(contents_.matches.begin(), contents_.matches.end(), [](const auto& a, const auto& b) {
    return std::tie(a.path, a.pattern) < std::tie(b.path, b.pattern);
  });
  sort(contents_.git_directories);
  sort(contents_.git_files);
  sort(contents_.sockets);
  sort(contents_.unlisted);
  sort(contents_.foreign_mounts);
  sort(contents_.mounts);
}

void WorkspaceIndex::CollectFolder(const FolderRecord& record, const std::string& path) {
  using Kind = FolderRecord::Finding::Kind;
  if (record.state == FolderRecord::State::kUnlisted) contents_.unlisted.push_back(path);
  if (record.state != FolderRecord::State::kListed) return;
  if (record.is_repository() || BaseName(path) == ".git") {
    contents_.git_directories.push_back(path);
  }
  for (const FolderRecord::Finding& finding : record.findings) {
    std::string found = JoinPath(path, finding.name);
    switch (finding.kind) {
      case Kind::kMatch:
        contents_.matches.push_back({std::move(found), finding.pattern, finding.type});
        break;
      case Kind::kGitFile:
        contents_.git_files.push_back(std::move(found));
        break;
      case Kind::kSocket:
        contents_.sockets.push_back(std::move(found));
        break;
    }
  }
}

std::vector<std::string> WorkspaceIndex::NamesOf(const std::set<FileNumber>& files) const {
  std::vector<std::string> names;
  for (const auto& [root, tree] : trees_) {
    const OpenedNode top = OpenFolderAt(root);
    std::vector<std::pair<const FolderRecord*, std::string>> pending;
    if (top.fd.valid()) pending.emplace_back(&tree->top, "");
    while (!pending.empty()) {
      const auto [record, relative] = std::move(pending.back());
      pending.pop_back();
      const OpenedNode folder = OpenFolderBeneath(top.fd.get(), relative);
      if (!folder.fd.valid()) continue;
      const std::uint64_t device = record->stamp.device;
      const std::string path = JoinPath(root, relative);
      // A folder that cannot be listed to its end was reported as unlisted when it was indexed.
      (void)ReadNames(folder.fd.get(),
                      [&](std::string_view name, NodeType type, std::uint64_t inode) {
                        if (type == NodeType::kFile && files.contains({device, inode})) {
                          names.push_back(JoinPath(path, name));
                        }
                      });
      for (const FolderRecord::Child& child : record->children) {
        pending.emplace_back(child.record.get(), JoinPath(relative, child.name));
      }
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cordon::internal
