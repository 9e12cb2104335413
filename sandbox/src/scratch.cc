#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

constexpr std::string_view kSetPrefix = "cordon-own-";
// Until it is locked a folder has another name, so that no other set takes it for abandoned. The
// root is locked shared meanwhile: who has it alone knows that the makers of such folders are dead.
constexpr std::string_view kNewPrefix = "cordon-new-";
constexpr std::string_view kAnyPrefix = "cordon-";
// 64 bits that nobody guesses. Commands make sockets in TMPDIR, whose paths end at 107 bytes.
constexpr std::size_t kIdDigits = 16;
constexpr std::time_t kNewSeconds = 60;  // Where the root could not be locked.
constexpr int kLockTries = 100;          // A millisecond apart.
constexpr char kLockName[] = "lock";
constexpr const char* kExecutorFolders[] = {"-home", "-tmp", "-cache"};  // Not all at once.
constexpr mode_t kPrivate = 0700;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t kListingBytes = 16 * 1024;

UniqueFd OpenFolder(int parent, const std::string& name) {
  return UniqueFd(openat(parent, name.c_str(), kFolderFlags));
}

// A command may have taken its own rights away. Where it may not even be opened, the change goes
// through another descriptor, since fchmodat(2) would follow a link.
UniqueFd OpenFolderForRemoval(int parent, const std::string& name) {
  UniqueFd folder = OpenFolder(parent, name);
  if (folder.valid()) {
    struct stat status = {};
    const bool is_open = fstat(folder.get(), &status) == 0 && (status.st_mode & 0700) == kPrivate;
    if (!is_open) (void)fchmod(folder.get(), kPrivate);
    return folder;
  }
  const UniqueFd handle(
      openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!handle.valid()) return UniqueFd();
  chmod(absl::StrCat("/proc/self/fd/", handle.get()).c_str(), kPrivate);
  return OpenFolder(parent, name);
}

// Some of the names in `folder`, none when there are none; nothing when it cannot be listed.
std::optional<std::vector<std::string>> SomeNames(int folder) {
  if (lseek(folder, 0, SEEK_SET) != 0) return std::nullopt;
  alignas(dirent64) char buffer[kListingBytes];
  std::vector<std::string> names;
  while (names.empty()) {
    const long bytes = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
    if (bytes < 0) return std::nullopt;
    if (bytes == 0) break;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
  }
  return names;
}

bool UnlinkFile(int folder, const std::string& name) {
  return unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT;
}

bool UnlinkFolder(int parent, const std::string& name) {
  return unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

// Empties one tree. Folders that hold folders are flattened: what is below them is moved to the top
// first, so that two descriptors are enough for any depth.
class TreeRemoval {
 public:
  explicit TreeRemoval(int top) : top_(top), hoisted_(absl::StrCat("removing-", RandomId(), "-")) {}

  bool Empty() {
    while (true) {
      const std::optional<std::vector<std::string>> names = SomeNames(top_);
      if (!names.has_value()) return false;
      if (names->empty()) return true;
      bool progress = false;
      for (const std::string& name : *names) {
        progress |= UnlinkFile(top_, name) || RemoveFlattened(name);
      }
      if (!progress) return false;
    }
  }

 private:
  bool RemoveFlattened(const std::string& name) {
    if (UnlinkFolder(top_, name)) return true;
    const UniqueFd folder = OpenFolderForRemoval(top_, name);
    if (!folder.valid()) return errno == ENOENT;
    while (true) {
      const std::optional<std::vector<std::string>> names = SomeNames(folder.get());
      if (!names.has_value()) return false;
      if (names->empty()) return UnlinkFolder(top_, name);
      bool progress = false;
      for (const std::string& below : *names) {
        progress |= UnlinkFile(folder.get(), below) || Hoist(folder.get(), below);
      }
      if (!progress) return false;
    }
  }

  bool Hoist(int folder, const std::string& name) {
    if (UnlinkFolder(folder, name)) return true;
    // Moving a folder rewrites its "..", for which it must be writable.
    if (!OpenFolderForRemoval(folder, name).valid()) return false;
    const std::string target = absl::StrCat(hoisted_, count_++);
    return renameat(folder, name.c_str(), top_, target.c_str()) == 0;
  }

  const int top_;
  const std::string hoisted_;
  int count_ = 0;
};

// A folder has an owner while somebody has its lock: on the folder itself, which costs no inode, or
// on a file in it where folders cannot be locked (NFS).
bool Lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

// Locks the new folder `folder`. Fails when somebody else took it for abandoned. `file` is invalid
// where none is needed.
bool LockOwn(int folder, UniqueFd& file) {
  if (Lock(folder)) return true;
  if (errno == EWOULDBLOCK) return false;
  file = UniqueFd(openat(folder, kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.valid() && Lock(file.get());
}

// Whether the owner of `folder` is gone, and nobody takes it for abandoned until it is closed.
bool LockAbandoned(int folder, UniqueFd& file) {
  file = UniqueFd(openat(folder, kLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (file.valid()) return Lock(file.get());
  return errno == ENOENT && Lock(folder);
}

// Other users may lock a shared root for ever: nothing waits for long, or depends on it.
UniqueFd LockRoot(int root, int operation) {
  UniqueFd lock(openat(root, ".", kFolderFlags));
  if (!lock.valid() || flock(lock.get(), operation | LOCK_NB) != 0) return UniqueFd();
  return lock;
}

UniqueFd LockRootForMaking(int root) {
  for (int i = 0; i < kLockTries; ++i) {
    UniqueFd lock = LockRoot(root, LOCK_SH);
    if (lock.valid()) return lock;
    (void)poll(nullptr, 0, 1);
  }
  return UniqueFd();
}

void RemoveIfAbandoned(int root, const std::string& name, bool nobody_makes_one) {
  const UniqueFd folder = OpenFolder(root, name);
  struct stat status = {};
  if (!folder.valid() || fstat(folder.get(), &status) != 0) return;
  if (status.st_uid != geteuid()) return;
  const bool is_new = name.compare(0, kNewPrefix.size(), kNewPrefix) == 0;
  if (is_new && !nobody_makes_one && std::time(nullptr) - status.st_mtime < kNewSeconds) return;
  UniqueFd lock;
  if (!LockAbandoned(folder.get(), lock)) return;
  // What cannot be removed now is tried again by the next set.
  (void)RemoveTree(root, name);
}

std::vector<std::string> NamesWith(std::string_view prefix, int root) {
  std::vector<std::string> names;
  UniqueFd listing(openat(root, ".", kFolderFlags));
  if (!listing.valid()) return names;
  DIR* directory = fdopendir(listing.get());
  if (directory == nullptr) return names;
  (void)listing.Release();
  const absl::Cleanup close = [directory] { closedir(directory); };
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix)) names.emplace_back(name);
  }
  return names;
}

void RemoveAbandonedSets(int root) {
  UniqueFd alone = LockRoot(root, LOCK_EX);
  std::vector<std::string> sets;
  std::vector<std::string> unfinished;
  for (std::string& name : NamesWith(kAnyPrefix, root)) {
    if (name.starts_with(kSetPrefix)) {
      sets.push_back(std::move(name));
    } else if (name.starts_with(kNewPrefix)) {
      unfinished.push_back(std::move(name));
    }
  }
  for (const std::string& name : unfinished) RemoveIfAbandoned(root, name, alone.valid());
  alone.Reset();
  for (const std::string& name : sets) RemoveIfAbandoned(root, name, false);
}

absl::StatusOr<std::string> RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("scratch_root %s cannot be used: %s", path,
                                     std::string(std::strerror(errno))));
  }
  return std::string(resolved);
}

// A private folder whatever the umask is.
bool MakePrivateFolder(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), kPrivate) != 0) return false;
  struct stat status = {};
  const int found = fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  if (found == 0 && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == kPrivate) return true;
  const UniqueFd folder = OpenFolder(parent, name);
  return folder.valid() && fchmod(folder.get(), kPrivate) == 0;
}

}  // namespace

std::vector<std::string> ScratchFoldersIn(int root) { return NamesWith(kSetPrefix, root); }

bool HasOwner(int folder) {
  UniqueFd lock;
  const bool is_abandoned = LockAbandoned(folder, lock);
  // Of the folder itself it is held until that is closed otherwise.
  if (is_abandoned && !lock.valid()) (void)flock(folder, LOCK_UN);
  return !is_abandoned;
}

absl::Status RemoveTree(int parent, const std::string& name) {
  const UniqueFd top = OpenFolderForRemoval(parent, name);
  if (!top.valid() && errno == ENOENT) return absl::OkStatus();
  if (top.valid() && TreeRemoval(top.get()).Empty() && UnlinkFolder(parent, name)) {
    return absl::OkStatus();
  }
  return MakeErrnoError(errno == ENOENT ? EIO : errno,
                        absl::StrFormat("cannot remove the scratch folder %s", name));
}

ScratchFolder::ScratchFolder(UniqueFd root, UniqueFd folder, UniqueFd lock,
                             const std::string& root_path, std::string name)
    : name_(std::move(name)),
      path_(absl::StrCat(root_path == "/" ? "" : root_path, "/", name_)),
      root_(std::move(root)),
      folder_(std::move(folder)),
      lock_(std::move(lock)) {}

ScratchFolder::~ScratchFolder() { (void)Remove(); }

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Create(
    const std::string& scratch_root) {
  absl::StatusOr<std::string> root_path = RealPath(scratch_root);
  if (!root_path.ok()) return root_path.status();
  UniqueFd root(open(root_path->c_str(), kFolderFlags));
  int error = errno;
  const UniqueFd making = root.valid() ? LockRootForMaking(root.get()) : UniqueFd();
  const std::string id = RandomId().substr(0, kIdDigits);
  const std::string new_name = absl::StrCat(std::string(kNewPrefix), id);
  std::string name = absl::StrCat(std::string(kSetPrefix), id);
  if (root.valid() && MakePrivateFolder(root.get(), new_name)) {
    UniqueFd folder = OpenFolder(root.get(), new_name);
    UniqueFd lock;
    if (folder.valid() && LockOwn(folder.get(), lock) &&
        renameat(root.get(), new_name.c_str(), root.get(), name.c_str()) == 0) {
      return std::unique_ptr<ScratchFolder>(
          new ScratchFolder(std::move(root), std::move(folder), std::move(lock),
                            *std::move(root_path), std::move(name)));
    }
    error = errno;
    (void)RemoveTree(root.get(), new_name);
  } else if (root.valid()) {
    error = errno;
  }
  return MakeError(ErrorCode::kInvalidOption,
                   absl::StrFormat("cannot make a folder in scratch_root %s: %s", *root_path,
                                   std::string(std::strerror(error))));
}

absl::StatusOr<ScratchFolders> ScratchFolder::MakeExecutorFolders(const std::string& name,
                                                                  HomeMode home) {
  const std::lock_guard lock(mutex_);
  if (removed_) return MakeError(ErrorCode::kClosed, "the executor set is closed");
  const auto make = [&](const char* part, std::string& path) {
    path = absl::StrCat(path_, "/", name, part);
    return MakePrivateFolder(folder_.get(), absl::StrCat(name, part));
  };
  ScratchFolders folders;
  folders.all = path_;
  const bool made =
      (home == HomeMode::kIsolated ? make("-home", folders.home) : make("-cache", folders.cache)) &&
      make("-tmp", folders.temporary);
  if (made) return folders;
  const absl::Status failed =
      MakeErrnoError(errno, absl::StrFormat("cannot make the private folders in %s", path_));
  (void)RemoveFoldersLocked(name);
  return failed;
}

absl::Status ScratchFolder::RemoveExecutorFolders(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (removed_) return absl::OkStatus();
  return RemoveFoldersLocked(name);
}

absl::Status ScratchFolder::RemoveFoldersLocked(const std::string& name) {
  absl::Status status;
  for (const char* part : kExecutorFolders) {
    status.Update(RemoveTree(folder_.get(), absl::StrCat(name, part)));
  }
  return status;
}

void ScratchFolder::RemoveAbandoned() {
  const std::lock_guard lock(mutex_);
  if (!removed_) RemoveAbandonedSets(root_.get());
}

absl::Status ScratchFolder::Remove() {
  const std::lock_guard lock(mutex_);
  if (removed_) return absl::OkStatus();
  absl::Status status = RemoveTree(root_.get(), name_);
  if (!status.ok()) return status;
  removed_ = true;
  lock_.Reset();
  folder_.Reset();
  root_.Reset();
  return status;
}

}  // namespace cordon::internal
