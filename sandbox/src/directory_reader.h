// Reading folders by descriptor: beneath a root, without following a symbolic link or crossing a
// mount point (openat2(2)), and without touching what is in them (d_type, no stat). Functions are
// safe from any thread. What a view is made of is asked by way of host_looks.h instead.

#ifndef CORDON_SANDBOX_SRC_DIRECTORY_READER_H_
#define CORDON_SANDBOX_SRC_DIRECTORY_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {

enum class NodeType : std::uint8_t { kMissing, kFolder, kFile, kSymlink, kSocket, kOther };

// What tells whether a folder has changed since it was read.
struct DirectoryStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  friend bool operator==(const DirectoryStamp&, const DirectoryStamp&) = default;
};

// The clock of those stamps, as it is now.
[[nodiscard]] std::int64_t FileClockNanoseconds();

// Whether a folder that had `stamp` when it was looked at at `seen_at` may have changed since
// without a new stamp: the kernel's clock for files advances once a tick, and other file systems
// are coarser.
[[nodiscard]] bool MayChangeUnnoticed(const DirectoryStamp& stamp, std::int64_t seen_at);

struct NodeStatus {
  NodeType type = NodeType::kMissing;
  DirectoryStamp stamp;
  std::int64_t born_ns = 0;  // 0 where the file system does not keep it.
  // The mount that it is seen through, in the mount namespace of this process. From Linux 6.8 on
  // never given to another one until the next boot; 0 before 5.8.
  std::uint64_t mount = 0;
  std::uint64_t links = 0;
};

// A descriptor, or why there is none.
struct OpenedNode {
  UniqueFd fd;
  int error_number = 0;
};

// The folder at the absolute path `path`; no component may be a symbolic link (ELOOP).
[[nodiscard]] OpenedNode OpenFolderAt(const std::string& path);

// The folder `relative` ("" is `root` itself) beneath `root`. EXDEV: it lies on another mount.
[[nodiscard]] OpenedNode OpenFolderBeneath(int root, const std::string& relative);

// lstat(2) of `path` relative to `root` (AT_FDCWD for absolute ones); never mounts anything.
[[nodiscard]] NodeStatus StatusOf(int root, const std::string& path);
[[nodiscard]] NodeStatus StatusOf(const std::string& absolute_path);

// fstat(2).
[[nodiscard]] NodeStatus StatusOf(int fd);

// As the kernel knows it, without asking the server of a network or FUSE file system, which might
// never answer: its type and number are right, its times may be old.
[[nodiscard]] NodeStatus KnownStatusOf(const std::string& absolute_path);

// Calls `visit` with each name but `.` and `..`, its type and inode. Returns 0 or an errno.
using VisitName =
    absl::FunctionRef<void(std::string_view name, NodeType type, std::uint64_t inode)>;
[[nodiscard]] int ReadNames(int folder, VisitName visit);

// The text of the symbolic link at `path`; empty when there is none.
[[nodiscard]] std::string ReadLink(const std::string& path);

// The first `max_bytes` of the regular file at `path`, which is no symbolic link; empty when it
// cannot be read.
[[nodiscard]] std::string ReadSmallFile(const std::string& path, std::size_t max_bytes);

// `folder` + "/" + `name`, also for "/" and for an empty `folder`, which is the place itself.
[[nodiscard]] std::string JoinPath(std::string_view folder, std::string_view name);

// The folder that holds `path`; "/" for what is at the top.
[[nodiscard]] std::string ParentPath(std::string_view path);

// The last component.
[[nodiscard]] std::string_view BaseName(std::string_view path);

}  // namespace cordon::internal

#endif  // CORDON_SANDBOX_SRC_DIRECTORY_READER_H_
