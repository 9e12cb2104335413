#include "plain_paths.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cordon::internal {

OpenedNode OpenPlain(const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd object(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (!object.valid()) return {UniqueFd(), errno};
  return {std::move(object), 0};
}

std::string PlaceOf(int object) {
  std::string path = ReadLink(absl::StrCat("/proc/self/fd/", object));
  return path.starts_with('/') ? path : std::string();
}

// Step by step, since looking at some file systems may take for ever. Others wait meanwhile, so
// that links of which the texts are long together are not followed.
std::string PlainPaths::WithoutLinks(const std::string& path, bool follow) {
  constexpr int kMaxLinks = 40;
  constexpr std::size_t kMaxText = std::size_t{4} * PATH_MAX;
  int links = 0;
  std::size_t text_size = path.size();
  std::string at = "/";
  std::string rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, end);
    rest.erase(0, std::min(rest.find_first_not_of('/', end), rest.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = ParentPath(at);
      continue;
    }
    const std::string next = JoinPath(at, name);
    if (!IsLocal(next)) return {};
    const std::string text = rest.empty() && !follow ? std::string() : ReadLink(next);
    if (text.empty()) {
      at = next;
      continue;
    }
    text_size += text.size();
    if (++links > kMaxLinks || text_size > kMaxText) return {};
    if (text.starts_with('/')) at.assign(1, '/');
    rest = rest.empty() ? text : absl::StrCat(text, "/", rest);
  }
  return at;
}

bool PlainPaths::IsLocal(const std::string& path) {
  if (!mounts_.has_value()) mounts_ = MountTable::OfThisProcess();
  return mounts_->HasLocally(path);
}

}  // namespace cordon::internal
