// The sandbox's own /proc. What the user inside could change or must not read there belongs to the
// host's root: for everybody else the files' own modes refuse it, for real root (who is uid 0
// inside as well) they do not, so they are covered.

#include "launcher/status.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

// Settings of the kernel and its devices.
constexpr const char* kReadOnly[] = {"bus",  "fs",     "irq",    "sysrq-trigger",
                                     "mtrr", "asound", "driver", "latency_stats"};

// Memory, addresses and secrets of the kernel.
constexpr const char* kMasked[] = {"acpi",       "scsi",        "kcore",        "kmsg",
                                   "keys",       "key-users",   "timer_list",   "sched_debug",
                                   "kpagecount", "kpageflags",  "kpagecgroup",  "kallsyms",
                                   "slabinfo",   "vmallocinfo", "pagetypeinfo", "vmcore"};

}  // namespace

int View::CoverReadOnly(int folder, const char* name) {
  const Fd place = OpenBeneath(folder, name);
  if (!place.ok()) return place.error() == ENOENT ? 0 : place.error();
  const Fd tree = CloneTree(place.get(), kPlainAttributes | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
  if (!tree.ok()) return tree.error();
  return Attach(tree.get(), place.get());
}

int View::CoverProc(int proc) {
  if (const int error = CoverReadOnly(proc, "sys")) return error;
  for (const char* name : kReadOnly) {
    if (!IsOurs(proc, name)) continue;
    if (const int error = CoverReadOnly(proc, name)) return error;
  }
  for (const char* name : kMasked) {
    if (!IsOurs(proc, name)) continue;
    const Fd place = OpenBeneath(proc, name);
    if (!place.ok()) return place.error();
    const Fd mask = MaskFor(place.get());
    if (!mask.ok()) return mask.error();
    if (const int error = Attach(mask.get(), place.get())) return error;
  }
  return 0;
}

bool View::IsOurs(int folder, const char* name) const {
  FileStatus status;
  return ErrorOf(Call(__NR_statx, folder, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status)) ==
             0 &&
         status.stx_uid == identity_.uid;
}

int View::MountProc(const char* target) {
  constexpr const char* kNoOptions[] = {nullptr};
  const Fd proc = NewFileSystem("proc", kNoOptions, kPlainAttributes | MOUNT_ATTR_NOEXEC);
  if (!proc.ok()) return proc.error();
  const Fd place = Place(target, true);
  if (!place.ok()) return place.error();
  if (const int error = Attach(proc.get(), place.get())) return error;
  return CoverProc(proc.get());
}

}  // namespace cordon::launcher
