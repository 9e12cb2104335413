#include "launcher/noted_runs.h"

#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/time_types.h>

#include "launcher/process_state.h"

namespace cordon::launcher {

using internal::kMaxNotedRuns;

void NotedRuns::Share(int file) {
  const long start = Call(__NR_mmap, nullptr, kMaxNotedRuns * sizeof(std::uint32_t), PROT_READ,
                          MAP_SHARED, file, 0);
  if (ErrorOf(start) == 0) shared_ = reinterpret_cast<const std::uint32_t*>(start);
}

void NotedRuns::Note(const internal::LauncherRequest& request, int tree) {
  if (request.run_place == 0 || request.run_place > kMaxNotedRuns) return;
  Run& run = runs_[request.run_place - 1];
  run.tree = Fd(Call(__NR_fcntl, tree, kDuplicateCloexec, 3));
  run.plan_id = request.plan_id;
  run.id = request.run_id;
}

bool NotedRuns::WasLeft(std::uint32_t index) const {
  const Run& run = runs_[index];
  if (shared_ == nullptr || !run.tree.ok()) return false;
  if (__atomic_load_n(&shared_[index], __ATOMIC_ACQUIRE) != run.id) return false;
  constexpr __kernel_timespec kPatience = {5, 0};
  return BecomesReadable(run.tree.get(), kPatience);
}

}  // namespace cordon::launcher
