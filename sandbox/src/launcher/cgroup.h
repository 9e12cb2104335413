// Starting processes in a cgroup (cgroups(7), version 2) and removing what is left of cgroups.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_CGROUP_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_CGROUP_H_

#include <cstdint>

namespace cordon::launcher {

// fork(2) by clone(2)'s `flags`, into the open cgroup `cgroup` (CLONE_INTO_CGROUP, Linux 5.7):
// nothing of the child ever runs outside of it. As clone(2) without a stack.
[[nodiscard]] long CloneIntoCgroup(unsigned long flags, int* pidfd, int cgroup);

// Whether that can be done, tried with a process that ends at once. Returns an errno.
[[nodiscard]] int CheckCgroup(int cgroup);

// Ends what runs in the cgroup `name` of `parent` and below it (cgroup.kill, Linux 5.14), and
// removes all of it. What does not end is tried again for a bounded time.
void SweepCgroup(int parent, const char* name);

// The processor time that the tree has used, from its open file cpu.stat; 0 when it has none.
[[nodiscard]] std::uint64_t CpuMicroseconds(int cpu_stat);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_CGROUP_H_
