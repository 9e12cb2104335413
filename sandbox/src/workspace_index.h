// What is below the roots of a profile that the view must treat in a special way: what globs match,
// git directories, sockets, and what could not be looked into. Folders are walked once; afterwards
// a refresh costs one statx(2) a folder and reads only those that changed. An index that is used
// again and again has its folders watched, where that is reliable (folder_watches.h), and a refresh
// then costs nothing for those that did not change. With a cache it begins with what another
// program knew (index_cache.h). Nothing is skipped silently: the contents name it.

#ifndef CORDON_SANDBOX_SRC_WORKSPACE_INDEX_H_
#define CORDON_SANDBOX_SRC_WORKSPACE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "directory_reader.h"
#include "folder_watches.h"
#include "glob_filter.h"
#include "index_cache.h"
#include "index_record.h"
#include "index_request.h"
#include "mount_table.h"

namespace cordon::internal {

struct IndexMatch {
  std::string path;
  std::size_t pattern = 0;  // Position in the request.
  NodeType type = NodeType::kFile;

  friend bool operator==(const IndexMatch&, const IndexMatch&) = default;
};

// Absolute paths, each list sorted.
struct IndexContents {
  std::vector<IndexMatch> matches;
  // Folders named `.git` and others that git would take for a repository: those of submodules, bare
  // ones.
  std::vector<std::string> git_directories;
  // Files and symbolic links named `.git`.
  std::vector<std::string> git_files;
  std::vector<std::string> sockets;
  // Folders that may not be listed, or whose path is too long to be opened.
  std::vector<std::string> unlisted;
  // Mount points that were not entered, since reading them might block.
  std::vector<std::string> foreign_mounts;
  // Other mount points; they were walked.
  std::vector<std::string> mounts;
  // Optional roots with too many names, walked in part.
  std::vector<std::string> incomplete;

  friend bool operator==(const IndexContents&, const IndexContents&) = default;
};

// A file by number, to find its other names.
using FileNumber = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

// For one thread at a time.
class WorkspaceIndex {
 public:
  // `cache`, which may be null, is asked at the first refresh.
  explicit WorkspaceIndex(std::unique_ptr<IndexCache> cache = nullptr);
  ~WorkspaceIndex();
  WorkspaceIndex(const WorkspaceIndex&) = delete;
  WorkspaceIndex& operator=(const WorkspaceIndex&) = delete;

  // Brings the contents up to date. Returns kBusy when there are more names than `max_names`, and
  // kInternal when the host lacks memory or descriptors; the contents are then of no use.
  [[nodiscard]] absl::Status Refresh(const IndexRequest& request);

  // The same for the last request.
  [[nodiscard]] absl::Status RefreshAgain() { return Refresh(IndexRequest(request_)); }

  [[nodiscard]] const IndexContents& contents() const { return contents_; }

  // Another one after each refresh by which anything may have changed: in the contents, or in what
  // `NamesOf` finds.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  // Stores what is known, as of the last refresh, in the cache, if that saves the next program more
  // than it costs this one.
  void Keep();

  // How many folders the last refresh read; the others were known. And how many of all are not
  // watched.
  [[nodiscard]] std::size_t folders_read() const { return folders_read_; }
  [[nodiscard]] std::size_t folders_unwatched() const { return folders_unwatched_; }

  // Every name of the files `files` in the indexed folders. Reads all of them again.
  [[nodiscard]] std::vector<std::string> NamesOf(const std::set<FileNumber>& files) const;

 private:
  void Accept(const IndexRequest& request);
  void StartWatching();
  [[nodiscard]] bool RootsAreSame() const;
  [[nodiscard]] bool FewAreSame() const;
  [[nodiscard]] static bool IsSame(int root, const std::string& relative,
                                   const FolderRecord& record, std::uint64_t mount);
  absl::Status RefreshTrees();
  absl::Status RefreshTree(const std::string& root, IndexTree& tree);
  void NoteMount(const std::string& path);
  void Collect();
  void CollectFolder(const FolderRecord& record, const std::string& path);

  IndexRequest request_;
  std::unique_ptr<IndexCache> cache_;
  std::unique_ptr<GlobFilter> filter_;
  std::unordered_set<std::string> skip_;
  std::optional<MountTable> mounts_;
  std::unique_ptr<FolderWatches> watches_;  // Outlives the trees.
  IndexTrees trees_;
  std::vector<std::string> queue_;  // Trees that this refresh has yet to visit.
  IndexContents contents_;
  std::size_t folders_read_ = 0;
  std::size_t folders_ = 0;
  std::size_t folders_unwatched_ = 0;
  std::size_t names_ = 0;
  std::size_t refreshes_ = 0;
  std::size_t reads_not_kept_ = 0;
  std::uint64_t generation_ = 0;
  bool complete_ = false;  // The last refresh went well.
};

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_WORKSPACE_INDEX_H_
