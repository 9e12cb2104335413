#include "own_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/digest.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

constexpr mode_t kOthers = 0077;

bool IsOwn(int fd, bool alone) {
  struct stat status = {};
  if (fstat(fd, &status) != 0 || status.st_uid != geteuid()) return false;
  return !alone || (status.st_mode & kOthers) == 0;
}

// The folder `path`, made in `parent` (borrowed) if that is this user's.
void MakeIn(int parent, const std::string& path) {
  if (parent < 0 || !IsOwn(parent, false)) return;
  (void)mkdirat(parent, std::string(BaseName(path)).c_str(), 0700);
}

// Beyond it the kernel sends a signal, which would end the program.
bool MayWrite(std::size_t bytes) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

UniqueFd OpenOwnFolder(const std::string& path) {
  OpenedNode folder = OpenFolderAt(path);
  if (!folder.fd.valid() || !IsOwn(folder.fd.get(), true)) return {};
  return std::move(folder.fd);
}

UniqueFd OpenOrMakeOwnFolder(const std::string& path) {
  const std::string parent = ParentPath(path);
  if (OpenFolderAt(parent).error_number == ENOENT) {
    MakeIn(OpenFolderAt(ParentPath(parent)).fd.get(), parent);
  }
  MakeIn(OpenFolderAt(parent).fd.get(), path);
  return OpenOwnFolder(path);
}

std::optional<std::string> ReadOwnFile(int folder, const std::string& name, std::size_t max_bytes) {
  const UniqueFd file(
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status = {};
  if (!file.valid() || fstat(file.get(), &status) != 0 || !IsOwn(file.get(), true) ||
      !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
      static_cast<std::uint64_t>(status.st_size) > max_bytes) {
    return std::nullopt;
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t filled = 0; filled < text.size();) {
    const ssize_t bytes = read(file.get(), text.data() + filled, text.size() - filled);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return std::nullopt;
    filled += static_cast<std::size_t>(bytes);
  }
  return text;
}

void WriteOwnFile(int folder, const std::string& name, std::string_view bytes) {
  if (!MayWrite(bytes.size())) return;
  const std::string temporary = absl::StrCat(".new-", RandomId());
  const UniqueFd file(openat(folder, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  const bool written =
      WriteAll(file.get(), bytes) && renameat(folder, temporary.c_str(), folder, name.c_str()) == 0;
  if (!written) (void)unlinkat(folder, temporary.c_str(), 0);
}

void RemoveOldest(int folder, std::size_t max_files) {
  const UniqueFd listed(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listed.valid()) return;
  std::vector<std::pair<std::int64_t, std::string>> files;
  (void)ReadNames(listed.get(), [&](std::string_view name, NodeType, std::uint64_t) {
    files.emplace_back(StatusOf(folder, std::string(name)).stamp.modified_ns, name);
  });
  if (files.size() <= max_files) return;
  std::sort(files.begin(), files.end());
  files.resize(files.size() - max_files);
  for (const auto& [time, name] : files) (void)unlinkat(folder, name.c_str(), 0);
}

}  // namespace cordon::internal
