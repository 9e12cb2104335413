#include "launcher/sweep.h"

#include <linux/fcntl.h>
#include <linux/time_types.h>

#include <cstddef>
#include <cstdint>

#include "launcher/directory.h"
#include "launcher/fd.h"
#include "launcher/mount.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

constexpr int kFolderFlags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kRemoveFolder = 0x200;        // AT_REMOVEDIR
constexpr std::size_t kLongestPath = 4096;  // PATH_MAX
constexpr int kAttempts = 300;
constexpr __kernel_timespec kPause = {0, 10'000'000};

bool UnlinkFile(int folder, const char* name) {
  return ErrorOf(Call(__NR_unlinkat, folder, name, 0)) == 0;
}

bool UnlinkFolder(int folder, const char* name) {
  return ErrorOf(Call(__NR_unlinkat, folder, name, kRemoveFolder)) == 0;
}

// A command may have taken its own rights away. fchmod(2) refuses O_PATH, chmod(2) follows links.
Fd OpenForRemoval(int folder, const char* name) {
  const Fd handle(Call(__NR_openat, folder, name, O_PATH | kFolderFlags));
  if (!handle.ok()) return Fd(-handle.error());
  TextBuffer<64> path;
  path.Add("/proc/self/fd/").AddNumber(static_cast<std::uint64_t>(handle.get()));
  Call(__NR_fchmodat, AT_FDCWD, path.get(), 0700);
  return Fd(Call(__NR_openat, folder, name, O_RDONLY | kFolderFlags));
}

// Calls `remove` with the names in `folder`, as one reading gives them; whether there were any.
template <typename Remove>
bool ForSome(int folder, Remove remove) {
  const Fd listing(Call(__NR_openat, folder, ".", O_RDONLY | kFolderFlags));
  return VisitNext(listing.get(), remove);
}

// Empties one folder by moving what lies deeper up into it.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  // One pass; whether there was anything.
  bool Pass() {
    return ForSome(top_, [this](const char* name) {
      if (!UnlinkFile(top_, name)) Flatten(name);
    });
  }

 private:
  void Flatten(const char* name) {
    const Fd folder = OpenForRemoval(top_, name);
    if (!folder.ok()) return;
    while (ForSome(folder.get(), [&](const char* below) { Hoist(folder.get(), below); })) {
      if (--budget_ == 0) return;
    }
    UnlinkFolder(top_, name);
  }

  void Hoist(int folder, const char* name) {
    if (UnlinkFile(folder, name) || UnlinkFolder(folder, name)) return;
    // Moving a folder rewrites its "..", for which it must be writable.
    if (!OpenForRemoval(folder, name).ok()) return;
    TextBuffer<32> target;
    target.Add("removing-").AddNumber(count_++);
    Call(__NR_renameat2, folder, name, top_, target.get(), 0);
  }

  const int top_;
  std::uint64_t count_ = 0;
  int budget_ = 1'000'000;
};

}  // namespace

void Sweep(int parent, const char* name) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Fd top = OpenForRemoval(parent, name);
    if (!top.ok()) return;
    Removal removal(top.get());
    for (int passes = 0; passes < 100'000 && removal.Pass(); ++passes) {
    }
    if (UnlinkFolder(parent, name)) return;
    Call(__NR_nanosleep, &kPause, nullptr);
  }
}

void RemovePath(const char* path) {
  std::size_t slash = Length(path);
  while (slash > 0 && path[slash] != '/') --slash;
  TextBuffer<kLongestPath> above;
  above.Add(path, slash == 0 ? 1 : slash);
  const Fd folder = OpenHost(above.get());
  const char* const name = path + slash + 1;
  if (!above.complete() || !folder.ok() || *name == '\0') return;
  if (!UnlinkFile(folder.get(), name)) Sweep(folder.get(), name);
}

}  // namespace cordon::launcher
