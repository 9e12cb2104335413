#include "launcher/process_state.h"

#include <linux/poll.h>
#include <linux/resource.h>
#include <linux/signal.h>
#include <linux/time_types.h>

#include <cstddef>

#include "launcher/fd.h"
#include "launcher/text.h"

namespace cordon::launcher {
namespace {

constexpr int kSignalCount = 64;
constexpr std::size_t kSignalSetBytes = kSignalCount / 8;

void SetMask(std::uint64_t mask) {
  Call(__NR_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, kSignalSetBytes);
}

int SetLimit(int resource, std::uint64_t value) {
  struct {
    std::uint64_t soft;
    std::uint64_t hard;
  } limit;
  const int error = ErrorOf(Call(__NR_prlimit64, 0, resource, nullptr, &limit));
  if (error != 0) return error;
  if (value < limit.hard) limit.hard = value;
  limit.soft = limit.hard;
  return ErrorOf(Call(__NR_prlimit64, 0, resource, &limit, nullptr));
}

}  // namespace

void SetDisposition(int signal, Disposition disposition) {
  struct sigaction action = {};
  action.sa_handler = reinterpret_cast<__sighandler_t>(static_cast<std::uint64_t>(disposition));
  Call(__NR_rt_sigaction, signal, &action, nullptr, kSignalSetBytes);
}

void ResetAllDispositions() {
  for (int signal = 1; signal <= kSignalCount; ++signal) {
    SetDisposition(signal, Disposition::kDefault);
  }
}

void BlockAllSignals() { SetMask(~std::uint64_t{0}); }
void UnblockAllSignals() { SetMask(0); }

void CloseFrom(int first) { Call(__NR_close_range, first, ~0U, 0); }

int MakeDescriptor(int from, int to) { return ErrorOf(Call(__NR_dup3, from, to, 0)); }

int SetLimits(const Plan& plan) {
  const auto* limits = plan.Records<wire::LimitRecord>(plan.header->limits);
  for (std::uint32_t i = 0; i < plan.header->limits.count; ++i) {
    if (const int error = SetLimit(limits[i].resource, limits[i].value)) return error;
  }
  return 0;
}

int SetHostName(const char* name) { return ErrorOf(Call(__NR_sethostname, name, Length(name))); }

bool IsReadable(int descriptor) { return BecomesReadable(descriptor, {0, 0}); }

bool BecomesReadable(int descriptor, __kernel_timespec patience) {
  pollfd entry = {descriptor, POLLIN, 0};
  return Call(__NR_ppoll, &entry, 1, &patience, nullptr, 0) > 0;
}

std::uint64_t NowMicroseconds() {
  __kernel_timespec now = {};
  constexpr int kMonotonic = 1;  // CLOCK_MONOTONIC
  Call(__NR_clock_gettime, kMonotonic, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace cordon::launcher
