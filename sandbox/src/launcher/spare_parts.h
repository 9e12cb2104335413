// What a sandbox that starts from a template needs for itself alone, and what takes the kernel
// longer than the rest of it: a copy of the template's mounts and namespaces for its network, its
// IPC objects and its host name. They are made ahead, while nobody waits. Each serves one sandbox;
// before that no process but its maker was ever in it. They belong to the template's user
// namespace, so that the sandbox has less power over them than over its own.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_SPARE_PARTS_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_SPARE_PARTS_H_

#include "launcher/fd.h"

namespace cordon::launcher {

struct SpareParts {
  Fd tree;
  Fd ipc;
  Fd host_name;
  Fd network;  // With its loopback up. Without a descriptor where none was asked for.
};

// What they are made for: descriptors of the template, and what its sandboxes have.
struct SpareKind {
  int user = -1;
  int mounts = -1;
  int tree = -1;
  bool with_network = false;
  const char* host_name = nullptr;
};

class SpareMaker {
 public:
  // Whether there are none, and none are being made.
  [[nodiscard]] bool is_missing() const { return !answer_.ok(); }
  // Whether it is not worth trying again.
  [[nodiscard]] bool is_refused() const { return failures_ >= kMostFailures; }

  // Has a process make them. `launcher` is the pidfd of this program.
  void Begin(const SpareKind& kind, int launcher);

  // Gives them away. Without descriptors when there are none, or none yet.
  [[nodiscard]] SpareParts Take();

 private:
  static constexpr int kMostFailures = 3;

  int failures_ = 0;
  Fd answer_;  // What the process that makes them sends them on.
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_SPARE_PARTS_H_
