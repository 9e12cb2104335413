// The sandbox's own /dev: a user namespace cannot make device nodes, so they are binds of the
// host's.

#include "launcher/status.h"
#include "launcher/text.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

constexpr const char* kNodes[] = {"null", "zero", "full", "random", "urandom", "tty"};

struct Link {
  const char* name;
  const char* text;
};
constexpr Link kLinks[] = {{"fd", "/proc/self/fd"},
                           {"stdin", "/proc/self/fd/0"},
                           {"stdout", "/proc/self/fd/1"},
                           {"stderr", "/proc/self/fd/2"},
                           {"ptmx", "pts/ptmx"}};

constexpr std::uint64_t kInert = kPlainAttributes | MOUNT_ATTR_NOEXEC;

int BindNode(int dev, const char* name) {
  TextBuffer<32> host_path;
  host_path.Add("/dev/").Add(name);
  const Fd node = OpenHost(host_path.get());
  if (!node.ok()) return node.error();
  // A read-only mount lets devices be written to, but real root not change their modes.
  const Fd tree = CloneTree(node.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY);
  if (!tree.ok()) return tree.error();
  if (const int error = ErrorOf(Call(__NR_mknodat, dev, name, kRegularType | 0444, 0)))
    return error;
  return AttachAt(tree.get(), dev, name);
}

int MountTerminals(int dev) {
  constexpr const char* kOptions[] = {"ptmxmode", "0666", "mode", "0620", nullptr};
  const Fd mount = NewFileSystem("devpts", kOptions, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
  return mount.ok() ? AttachAt(mount.get(), dev, "pts") : mount.error();
}

}  // namespace

// Without a size of its own it is a folder of the view's tmpfs, which only its own mount lets be
// written to: one file system less to make and to take down. Not in what sandboxes share.
int View::MountSharedMemory(int dev, std::uint64_t bytes) {
  TextBuffer<24> size;
  size.AddNumber(bytes);
  const char* const with_size[] = {"mode", "01777", "size", size.get(), nullptr};
  const char* const without_size[] = {"mode", "01777", nullptr};
  const bool is_own = bytes != 0 || part_ == ViewPart::kOwn;
  const Fd memory = is_own ? NewFileSystem("tmpfs", bytes != 0 ? with_size : without_size, kInert)
                           : CloneTree(OpenBeneath(dev, "shm").get(), kInert);
  if (!memory.ok()) return memory.error();
  return AttachAt(memory.get(), dev, "shm");
}

int View::MountDev(const char* target, std::uint64_t shared_memory_bytes) {
  const Fd dev = Place(target, true);
  if (!dev.ok()) return dev.error();
  if (part_ != ViewPart::kOwn) {
    if (const int error = MakeDevFolder(dev.get())) return error;
  }
  return part_ == ViewPart::kShared ? 0 : MountOwnPartOfDev(dev.get(), shared_memory_bytes);
}

int View::MakeDevFolder(int dev) {
  if (!IsOwn(dev)) return EROFS;
  for (const char* name : kNodes) {
    if (const int error = BindNode(dev, name)) return error;
  }
  for (const Link& link : kLinks) {
    const long made = Call(__NR_symlinkat, link.text, dev, link.name);
    if (ErrorOf(made) != 0) return ErrorOf(made);
  }
  if (const int error = ErrorOf(Call(__NR_mkdirat, dev, "pts", 0755))) return error;
  return ErrorOf(Call(__NR_mkdirat, dev, "shm", 01777));
}

int View::MountOwnPartOfDev(int dev, std::uint64_t shared_memory_bytes) {
  if (const int error = MountTerminals(dev)) return error;
  return MountSharedMemory(dev, shared_memory_bytes);
}

}  // namespace cordon::launcher
