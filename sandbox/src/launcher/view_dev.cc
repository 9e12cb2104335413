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
  const Fd place = OpenBeneath(dev, name);
  if (!place.ok()) return place.error();
  return Attach(tree.get(), place.get());
}

int MountIn(int dev, const char* name, const Fd& mount) {
  if (!mount.ok()) return mount.error();
  if (const int error = ErrorOf(Call(__NR_mkdirat, dev, name, 0755))) return error;
  const Fd place = OpenBeneath(dev, name);
  if (!place.ok()) return place.error();
  return Attach(mount.get(), place.get());
}

int MountTerminals(int dev) {
  constexpr const char* kOptions[] = {"ptmxmode", "0666", "mode", "0620", nullptr};
  return MountIn(dev, "pts",
                 NewFileSystem("devpts", kOptions, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
}

}  // namespace

int View::MountSharedMemory(int dev, std::uint64_t bytes) {
  TextBuffer<24> size;
  size.AddNumber(bytes);
  const char* const all[] = {"mode", "01777", "size", size.get(), nullptr};
  constexpr const char* kWithoutSize[] = {"mode", "01777", nullptr};
  const Fd memory = NewFileSystem("tmpfs", bytes != 0 ? all : kWithoutSize, kInert);
  return MountIn(dev, "shm", memory);
}

int View::MountDev(const char* target, std::uint64_t shared_memory_bytes) {
  constexpr const char* kOptions[] = {"mode", "0755", nullptr};
  const Fd dev = NewFileSystem("tmpfs", kOptions, kInert);
  if (!dev.ok()) return dev.error();
  const Fd place = Place(target, true);
  if (!place.ok()) return place.error();
  if (const int error = Attach(dev.get(), place.get())) return error;
  for (const char* name : kNodes) {
    if (const int error = BindNode(dev.get(), name)) return error;
  }
  for (const Link& link : kLinks) {
    const long made = Call(__NR_symlinkat, link.text, dev.get(), link.name);
    if (ErrorOf(made) != 0) return ErrorOf(made);
  }
  if (const int error = MountTerminals(dev.get())) return error;
  if (const int error = MountSharedMemory(dev.get(), shared_memory_bytes)) return error;
  return SetAttributes(dev.get(), kInert | MOUNT_ATTR_RDONLY);
}

}  // namespace cordon::launcher
