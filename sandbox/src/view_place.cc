#include "view_place.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/path_policy.h"
#include "cordon/sdk/unique_fd.h"
#include "directory_reader.h"

namespace cordon::internal {
namespace {

// Of links and of folders that do not exist: a command can write any path it likes.
constexpr int kMaxSteps = 40;

UniqueFd OpenInView(int root, const std::string& path, bool follow) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

std::string PathOf(const UniqueFd& place) {
  return ReadLink(absl::StrCat("/proc/self/fd/", place.get()));
}

void Describe(const UniqueFd& place, ViewPlace& found) {
  struct statvfs system = {};
  if (fstatvfs(place.get(), &system) != 0) return;
  found.read_only = (system.f_flag & ST_RDONLY) != 0;
  found.no_exec = (system.f_flag & ST_NOEXEC) != 0;
}

std::string LinkText(const UniqueFd& link) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = readlinkat(link.get(), "", text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

ViewPlace Existing(const UniqueFd& place) {
  ViewPlace found;
  found.path = PathOf(place);
  found.exists = fstat(place.get(), &found.status) == 0;
  found.folder_exists = true;
  Describe(place, found);
  return found;
}

class LookUp {
 public:
  explicit LookUp(int root) : root_(root) {}

  ViewPlace Find(const std::string& path, bool follow) {
    if (++steps_ > kMaxSteps) return ByText(path);
    const UniqueFd place = OpenInView(root_, path, follow);
    if (place.valid()) return Existing(place);
    if (path == "/") return ByText(path);

    const std::string name(BaseName(path));
    const ViewPlace folder = Find(ParentPath(path), /*follow=*/true);
    const std::string beside = JoinPath(folder.path, name);
    if (folder.exists && follow) {
      // The link may be there and not its target.
      const UniqueFd link = OpenInView(root_, beside, /*follow=*/false);
      const std::string text = link.valid() ? LinkText(link) : std::string();
      if (!text.empty()) {
        return Find(NormalizePath(text[0] == '/' ? text : JoinPath(folder.path, text)), follow);
      }
    }
    ViewPlace found = ByText(beside);
    found.folder_exists = folder.exists;
    found.read_only = folder.read_only;
    found.no_exec = folder.no_exec;
    return found;
  }

 private:
  static ViewPlace ByText(const std::string& path) {
    ViewPlace found;
    found.path = path;
    return found;
  }

  const int root_;
  int steps_ = 0;
};

}  // namespace

ViewPlace FindInView(int root, const std::string& path, bool follow) {
  // Only the kernel knows where `..` behind a link leads.
  const UniqueFd place = OpenInView(root, path, follow);
  return place.valid() ? Existing(place) : LookUp(root).Find(NormalizePath(path), follow);
}

}  // namespace cordon::internal
