// The sandboxes whose commands must leave nothing under certain names, and what is done about that
// when the process that is served dies: run_table.h.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_NOTED_RUNS_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_NOTED_RUNS_H_

#include <cstdint>

#include "launcher/fd.h"
#include "launcher_protocol.h"

namespace cordon::launcher {

class NotedRuns {
 public:
  // The file in which the other side says which of them run.
  void Share(int file);

  // That of the request's `run_place` and `run_id` is `tree`, a pidfd (borrowed).
  void Note(const internal::LauncherRequest& request, int tree);

  // Of all whose commands run or have run, and were not tidied up after: waits for their ends, for
  // a bounded time, and then calls `remove` with each one's plan. Not before all have ended, since
  // they may have the same names.
  template <typename Remove>
  void RemoveWhatIsLeft(Remove remove) {
    bool left[internal::kMaxNotedRuns];
    for (std::uint32_t i = 0; i < internal::kMaxNotedRuns; ++i) left[i] = WasLeft(i);
    for (std::uint32_t i = 0; i < internal::kMaxNotedRuns; ++i) {
      if (left[i]) remove(runs_[i].plan_id);
    }
  }

 private:
  struct Run {
    Fd tree;
    std::uint32_t plan_id = 0;
    std::uint32_t id = 0;
  };

  [[nodiscard]] bool WasLeft(std::uint32_t index) const;

  Run runs_[internal::kMaxNotedRuns];
  const std::uint32_t* shared_ = nullptr;  // The numbers of those that run.
};

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_NOTED_RUNS_H_
