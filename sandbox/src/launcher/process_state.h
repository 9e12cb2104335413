// Signals, descriptors, limits and the like of the calling process.

#ifndef CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_STATE_H_
#define CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_STATE_H_

#include <linux/time_types.h>

#include <cstdint>

#include "launcher/plan_reader.h"

namespace cordon::launcher {

enum class Disposition : std::uint64_t { kDefault = 0, kIgnore = 1 };

void SetDisposition(int signal, Disposition disposition);
// Also what was ignored before, and the real-time signals.
void ResetAllDispositions();
void BlockAllSignals();
void UnblockAllSignals();

void CloseFrom(int first);

// Makes `from` the descriptor `to`, which execve(2) leaves open. Returns an errno.
[[nodiscard]] int MakeDescriptor(int from, int to);

// Never raises a limit: the lower one of what there is and what is asked for holds. Returns an
// errno.
[[nodiscard]] int SetLimits(const Plan& plan);

// Of the UTS namespace. Returns an errno.
[[nodiscard]] int SetHostName(const char* name);

// Readable (for poll) when that process has ended.
[[nodiscard]] bool IsReadable(int descriptor);
// Waits for that, for `patience` at most.
bool BecomesReadable(int descriptor, __kernel_timespec patience);

[[nodiscard]] std::uint64_t NowMicroseconds();  // CLOCK_MONOTONIC

}  // namespace cordon::launcher

#endif  // CORDON_SANDBOX_SRC_LAUNCHER_PROCESS_STATE_H_
