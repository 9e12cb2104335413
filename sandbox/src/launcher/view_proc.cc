// The sandbox's own /proc. What must not be read or changed there belongs to the host's root. For
// every other user the files' own modes refuse it; real root, who is the same user inside, could
// also change those modes, for the whole host: for it /proc is read-only altogether (writing to
// /proc/self fails, too) and what only root may read is masked.

#include "launcher/status.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

constexpr std::uint64_t kProcAttributes = kPlainAttributes | MOUNT_ATTR_NOEXEC;

// Memory and addresses of the kernel; their own modes close them to everybody but root.
constexpr const char* kKernelMemory[] = {"kcore",       "kmsg",       "kpagecount",   "kpageflags",
                                         "kpagecgroup", "timer_list", "sched_debug",  "slabinfo",
                                         "vmallocinfo", "vmcore",     "pagetypeinfo", nullptr};

// The keys of the user, who is the same inside.
constexpr const char* kKeys[] = {"keys", "key-users", nullptr};

// What others than root may write to, or expect to find closed.
constexpr const char* kReadOnly[] = {"sys", "pressure"};

int ProtectSettings(int proc) {
  for (const char* name : kReadOnly) {
    const Fd place = OpenBeneath(proc, name);
    if (place.error() == ENOENT) continue;
    if (!place.ok()) return place.error();
    const Fd tree = CloneTree(place.get(), kProcAttributes | MOUNT_ATTR_RDONLY);
    if (!tree.ok()) return tree.error();
    if (const int error = Attach(tree.get(), place.get())) return error;
  }
  return 0;
}

}  // namespace

int View::MaskInProc(int proc, const char* const* names) {
  if (const int error = MakeHiddenPlace()) return error;
  Fd mask;
  for (; *names != nullptr; ++names) {
    if (!mask.ok()) mask = CloneTree(mask_file_.get(), 0);  // All of them are files.
    if (!mask.ok()) return mask.error();
    const int error = AttachAt(mask.get(), proc, *names);
    if (error == ENOENT) continue;
    if (error != 0) return error;
    mask = {};
  }
  return 0;
}

int View::MountProc(const char* target) {
  if (part_ == ViewPart::kShared) return Place(target, true).error();
  constexpr const char* kNoOptions[] = {nullptr};
  const bool closed = identity_.owns_kernel_files;
  const Fd proc =
      NewFileSystem("proc", kNoOptions, kProcAttributes | (closed ? MOUNT_ATTR_RDONLY : 0));
  if (!proc.ok()) return proc.error();
  const Fd place = Place(target, true);
  if (!place.ok()) return place.error();
  if (const int error = Attach(proc.get(), place.get())) return error;
  if (const int error = MaskInProc(proc.get(), kKeys)) return error;
  return closed ? MaskInProc(proc.get(), kKernelMemory) : ProtectSettings(proc.get());
}

}  // namespace cordon::launcher
