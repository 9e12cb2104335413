#include "launcher/identity.h"

#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

#include "launcher/fd.h"
#include "launcher/status.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

int WriteFile(const char* path, const char* text, std::size_t size) {
  const Fd file(Call(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC));
  if (!file.ok()) return file.error();
  return ErrorOf(Call(__NR_write, file.get(), text, size));
}

int WriteMap(const char* path, unsigned id) {
  TextBuffer<64> map;
  map.AddNumber(id).Add(" ").AddNumber(id).Add(" 1\n");
  return WriteFile(path, map.get(), map.size());
}

}  // namespace

Identity OwnIdentity() {
  Identity identity;
  identity.uid = static_cast<unsigned>(Call(__NR_geteuid));
  identity.gid = static_cast<unsigned>(Call(__NR_getegid));
  FileStatus status;
  const Fd file(Call(__NR_openat, AT_FDCWD, "/proc/version", O_PATH | O_CLOEXEC));
  // When in doubt, yes: it only closes more.
  identity.owns_kernel_files = StatusOf(file.get(), &status) != 0 || status.stx_uid == identity.uid;
  return identity;
}

int WriteIdMaps(const Identity& identity) {
  constexpr char kDeny[] = "deny";
  if (const int error = WriteFile("/proc/self/setgroups", kDeny, sizeof(kDeny) - 1)) return error;
  if (const int error = WriteMap("/proc/self/uid_map", identity.uid)) return error;
  return WriteMap("/proc/self/gid_map", identity.gid);
}

int DropBoundingSet(bool must) {
  for (int capability = 0;; ++capability) {
    const int error = ErrorOf(Call(__NR_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0));
    if (error == EINVAL) return 0;  // Beyond the last one of this kernel.
    if (error != 0) return must ? error : 0;
  }
}

int DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  // The ambient set follows the inheritable one (capabilities(7)).
  return ErrorOf(Call(__NR_capset, &header, none));
}

int SetNoNewPrivileges() { return ErrorOf(Call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }

}  // namespace cordon::launcher
