#include "launcher/spare_network.h"

#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/signal.h>

#include "launcher/loopback.h"
#include "launcher/message.h"
#include "launcher/process_state.h"

namespace cordon::launcher {
namespace {

// Says nothing when it fails: the socket is closed then.
[[noreturn]] void Make(int user, int answer, int launcher) {
  if (ErrorOf(Call(__NR_setns, user, CLONE_NEWUSER)) != 0) Exit(1);
  // After the change of identity, which would undo it.
  Call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (IsReadable(launcher)) Exit(1);
  if (ErrorOf(Call(__NR_unshare, CLONE_NEWNET)) != 0 || RaiseLoopback() != 0) Exit(1);
  const Fd network(Call(__NR_openat, AT_FDCWD, "/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!network.ok()) Exit(1);
  constexpr char kMade = 1;
  Exit(Send(answer, &kMade, sizeof(kMade), network.get()));
}

}  // namespace

void SpareNetwork::Begin(int user, int launcher) {
  Fd theirs;
  if (MakeSocketPair(&answer_, &theirs) != 0) return;
  const long pid = Call(__NR_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) Make(user, theirs.get(), launcher);
  if (pid < 0) answer_ = {};
}

Fd SpareNetwork::Take() {
  if (!answer_.ok() || !IsReadable(answer_.get())) return {};
  char made = 0;
  Received received = Receive(answer_.get(), &made, sizeof(made));
  answer_ = {};
  if (received.size != sizeof(made) || received.descriptor_count != 1) {
    ++failures_;
    return {};
  }
  return static_cast<Fd&&>(received.descriptors[0]);
}

}  // namespace cordon::launcher
