#include "file_io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "cordon/sdk/command.h"
#include "cordon/sdk/status.h"
#include "cordon/sdk/unique_fd.h"

namespace cordon::internal {
namespace {

// The name survives a crash only once the folder is on disk.
void SyncFolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) (void)fsync(fd.get());
}

absl::Status WriteAndRename(int fd, const std::string& from, const std::string& to,
                            std::string_view bytes) {
  if (absl::Status status = WriteAll(fd, bytes); !status.ok()) return status;
  if (fsync(fd) != 0) return MakeErrnoError(errno, "cannot sync " + EscapeForDisplay(from));
  if (rename(from.c_str(), to.c_str()) != 0) {
    return MakeErrnoError(errno, "cannot replace " + EscapeForDisplay(to));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadAll(int fd, std::size_t max_bytes) {
  std::string text;
  char buffer[16 * 1024];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return MakeErrnoError(errno, "cannot read a file");
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > max_bytes) return MakeError(ErrorCode::kInternal, "a file is too large");
  }
}

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return MakeErrnoError(errno, "cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));  // Mode 0600.
  if (!fd.valid()) {
    return MakeErrnoError(errno, "cannot make a file beside " + EscapeForDisplay(path));
  }
  absl::Status status = WriteAndRename(fd.get(), temporary, path, bytes);
  if (!status.ok()) {
    (void)unlink(temporary.c_str());
    return status;
  }
  SyncFolderOf(path);
  return absl::OkStatus();
}

}  // namespace cordon::internal
