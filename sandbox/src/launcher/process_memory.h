// What one process holds of memory that the kernel cannot simply drop: anonymous pages and shared
// memory, in use or swapped out. Files that are mapped do not count.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_MEMORY_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_MEMORY_H_

#include <cstdint>

namespace cordon::launcher {

// In bytes; cheap. Pages that several processes share count for each (proc_pid_status(5)).
[[nodiscard]] std::uint64_t MemoryOf(int pid);

// In bytes; walks its page tables. Shared pages count in proportion (proc_pid_smaps(5)). Of a
// process that does not let itself be looked into: as `MemoryOf`.
[[nodiscard]] std::uint64_t ShareOfMemory(int pid);

// Whether two processes have one address space. False where kcmp(2) does not say.
[[nodiscard]] bool ShareMemory(int pid, int other);

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_MEMORY_H_
