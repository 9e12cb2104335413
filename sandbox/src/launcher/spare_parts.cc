#include "launcher/spare_parts.h"

#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "launcher/loopback.h"
#include "launcher/message.h"
#include "launcher/mount.h"
#include "launcher/process_state.h"

namespace cordon::launcher {
namespace {

enum Part { kTree, kIpc, kHostName, kNetwork, kParts };

Fd OpenOwn(const char* path) { return Fd(Call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC)); }

int MakeNamespaces(const SpareKind& kind, SpareParts* parts) {
  const unsigned long flags = CLONE_NEWIPC | CLONE_NEWUTS | (kind.with_network ? CLONE_NEWNET : 0);
  if (const int error = ErrorOf(Call(__NR_unshare, flags))) return error;
  if (const int error = SetHostName(kind.host_name)) return error;
  parts->ipc = OpenOwn("/proc/self/ns/ipc");
  parts->host_name = OpenOwn("/proc/self/ns/uts");
  if (!parts->ipc.ok() || !parts->host_name.ok()) return EBADF;
  if (!kind.with_network) return 0;
  if (const int error = RaiseLoopback()) return error;
  parts->network = OpenOwn("/proc/self/ns/net");
  return parts->network.error();
}

// Says nothing when it fails: the socket is closed then.
[[noreturn]] void Make(const SpareKind& kind, int answer, int launcher) {
  if (ErrorOf(Call(__NR_setns, kind.user, CLONE_NEWUSER)) != 0) Exit(1);
  // After the change of identity, which would undo it.
  Call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (IsReadable(launcher)) Exit(1);
  SpareParts parts;
  if (MakeNamespaces(kind, &parts) != 0) Exit(1);
  // A tree that is attached nowhere is copied from where it was made.
  if (ErrorOf(Call(__NR_setns, kind.mounts, CLONE_NEWNS)) != 0) Exit(1);
  parts.tree = CloneTree(kind.tree, 0);
  if (!parts.tree.ok()) Exit(1);
  const int descriptors[kParts] = {parts.tree.get(), parts.ipc.get(), parts.host_name.get(),
                                   parts.network.get()};
  constexpr char kMade = 1;
  Exit(SendAll(answer, &kMade, sizeof(kMade), descriptors, kind.with_network ? kParts : kNetwork));
}

}  // namespace

void SpareMaker::Begin(const SpareKind& kind, int launcher) {
  Fd theirs;
  if (MakeSocketPair(&answer_, &theirs) != 0) return;
  const long pid = Call(__NR_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) Make(kind, theirs.get(), launcher);
  if (pid < 0) answer_ = {};
}

SpareParts SpareMaker::Take() {
  if (!answer_.ok() || !IsReadable(answer_.get())) return {};
  char made = 0;
  Received received = Receive(answer_.get(), &made, sizeof(made));
  answer_ = {};
  if (received.size != sizeof(made) || received.descriptor_count < kNetwork) {
    ++failures_;
    return {};
  }
  Fd* const descriptors = received.descriptors;
  SpareParts parts;
  parts.tree = static_cast<Fd&&>(descriptors[kTree]);
  parts.ipc = static_cast<Fd&&>(descriptors[kIpc]);
  parts.host_name = static_cast<Fd&&>(descriptors[kHostName]);
  if (received.descriptor_count > kNetwork) {
    parts.network = static_cast<Fd&&>(descriptors[kNetwork]);
  }
  return parts;
}

}  // namespace cordon::launcher
