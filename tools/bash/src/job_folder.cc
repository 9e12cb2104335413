#include "job_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/command.h"
#include "cordon/sdk/digest.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "cordon-jobs-";

UniqueFd OpenPlainFolder(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool IsPrivate(int folder) {
  struct stat info {};
  return fstat(folder, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

bool TryLock(int folder) { return flock(folder, LOCK_EX | LOCK_NB) == 0; }

// Between a lock and the making of the folder somebody may have swept it away.
bool StillThere(int folder, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(folder, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenJobFolder(const std::string& path) {
  const std::string shown = EscapeForDisplay(path);
  if (!path.starts_with('/')) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("the folder for background jobs must be absolute: %s", shown));
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return MakeErrnoError(errno, absl::StrFormat("cannot make %s for background jobs", shown));
  }
  UniqueFd folder = OpenPlainFolder(path);
  if (!folder.valid()) {
    return MakeErrnoError(errno, absl::StrFormat("cannot open %s for background jobs", shown));
  }
  if (!IsPrivate(folder.get())) {
    return MakeError(ErrorCode::kInvalidOption,
                     absl::StrFormat("%s must belong to you alone to keep background jobs in it: "
                                     "chmod 700 it, or name another folder",
                                     shown));
  }
  if (!TryLock(folder.get()) || !StillThere(folder.get(), path)) {
    return MakeError(ErrorCode::kBusy,
                     absl::StrFormat("%s is used by another session; name another folder", shown));
  }
  return folder;
}

absl::StatusOr<TemporaryJobFolder> MakeTemporaryJobFolder(const std::string& parent) {
  constexpr int kAttempts = 5;  // Somebody else may sweep it before it is locked.
  absl::StatusOr<UniqueFd> folder;
  for (int i = 0; i < kAttempts; ++i) {
    const std::string path = absl::StrFormat("%s/%s%s", parent, kPrefix, RandomId());
    folder = OpenJobFolder(path);
    if (folder.ok()) return TemporaryJobFolder{path, *std::move(folder)};
  }
  return folder.status();
}

void SweepTemporaryJobFolders(const std::string& parent) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const UniqueFd folder = OpenPlainFolder(path);
    if (!folder.valid() || !IsPrivate(folder.get()) || !TryLock(folder.get())) continue;
    (void)RemoveJobFolder(path);
  }
}

absl::Status RemoveJobFolder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return MakeErrnoError(error.value(), absl::StrFormat("cannot remove %s", EscapeForDisplay(path)));
}

}  // namespace cordon::internal
