#include "host_places.h"

#include <string>

#include "directory_reader.h"
#include "view_system.h"

namespace cordon::internal {
namespace {

// Those of the view's own /dev but for terminals and shared memory, which are the host's here.
constexpr const char* kDevices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/tty"};

// Not /proc as a whole: the folders of all processes of this user are in it.
constexpr const char* kProcFiles[] = {
    "/proc/cgroups", "/proc/cpuinfo", "/proc/devices", "/proc/filesystems",
    "/proc/loadavg", "/proc/meminfo", "/proc/stat",    "/proc/swaps",
    "/proc/uptime",  "/proc/version", "/proc/vmstat",  "/proc/sys/net/core/somaxconn"};
constexpr const char* kProcFolders[] = {"/proc/sys/kernel", "/proc/sys/vm", "/proc/sys/fs"};

Wish Of(NodeType type, Shown shown) {
  Wish wish;
  wish.type = type;
  wish.shown = shown;
  wish.executable = false;
  wish.may_vanish = true;
  return wish;
}

}  // namespace

void AddHostPlaces(const PathPolicy& paths, const ScratchFolders& scratch, ViewBuilder& builder) {
  for (const std::string& folder : scratch.Private()) {
    if (folder.empty()) continue;
    Wish wish;
    wish.shown = Shown::kWritable;
    builder.Add(folder, wish);
  }
  for (const char* path : kDevices) builder.Add(path, Of(NodeType::kOther, Shown::kWritable));
  for (const char* path : kProcFiles) builder.Add(path, Of(NodeType::kFile, Shown::kReadable));
  for (const char* path : kProcFolders) builder.Add(path, Of(NodeType::kFolder, Shown::kReadable));
  if (paths.Resolve(Axis::kRead, "/etc").access == Access::kAllow) {
    AddTargetsInRun(paths, builder);
  }
}

Wishes HostWishes(const ViewBuilder& builder) {
  Wishes wishes = builder.wishes();
  for (const ViewOp& op : builder.extra_ops()) {
    if (op.kind == ViewOp::Kind::kBind) {
      wishes.emplace(op.source, Of(NodeType::kFile, Shown::kReadable));
    }
  }
  return wishes;
}

}  // namespace cordon::internal
