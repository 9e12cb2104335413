#include "fork_limit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cordon/sdk/unique_fd.h"
#include "seccomp_filter.h"
#include "syscall_policy.h"

namespace cordon::internal {
namespace {

constexpr const char* kForkCalls[] = {"clone", "fork", "vfork"};

// A full tree that took longer to count than this is not counted again for as long as it took,
// whoever asks how often: others wait for the same thread.
constexpr std::chrono::milliseconds kQuick{5};
// A call that was let go on has ended after that, or its thread gets no processor time at all.
constexpr std::chrono::seconds kLongest{1};

// Whether `thread` may be inside a call that makes a process, from /proc/PID/syscall
// (proc_pid_syscall(5)): "running" is anything.
bool MayBeForking(pid_t thread) {
  const std::string place = absl::StrCat("/proc/", thread, "/syscall");
  const UniqueFd file(open(place.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text = {};
  const ssize_t size = file.valid() ? read(file.get(), text.data(), text.size() - 1) : -1;
  if (size <= 0) return errno != ENOENT && errno != ESRCH;
  return text[0] == 'r' || IsForkCall(std::atoi(text.data()));
}

}  // namespace

std::span<const char* const> ForkCalls() { return kForkCalls; }

bool IsForkCall(int number) {
  static const std::array<int, 3> numbers = [] {
    std::array<int, 3> found = {};
    std::transform(std::begin(kForkCalls), std::end(kForkCalls), found.begin(),
                   [](const char* name) { return CallNumber(name, NativeArchitecture()); });
    return found;
  }();
  return number >= 0 && std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

CallAnswer ForkLimit::OnCall(const seccomp_notif& call, int /*listener*/) {
  if (!IsForkCall(call.data.nr)) return {};
  if (Admit(static_cast<pid_t>(call.pid), std::chrono::steady_clock::now())) return {};
  return {.goes_on = false, .error_number = EAGAIN};
}

bool ForkLimit::Admit(pid_t thread, Time now) {
  under_way_.erase(thread);  // What it had asked for before has ended.
  if (estimate_ >= most_) {
    if (now < full_until_) return false;
    // Whoever is not under way by now has made what is counted next.
    const std::uint64_t under_way = CountUnderWay(now);
    const std::optional<std::uint64_t> threads = tree_->CountThreads();
    // The supervisor ends a tree that is too large, whether or not it can be counted here.
    if (!threads.has_value()) return true;
    estimate_ = *threads + under_way;
    if (estimate_ >= most_) {
      const Time counted = std::chrono::steady_clock::now();
      if (counted - now > kQuick) full_until_ = counted + (counted - now);
      return false;
    }
  }
  ++estimate_;
  under_way_[thread] = now;
  return true;
}

std::uint64_t ForkLimit::CountUnderWay(Time now) {
  std::erase_if(under_way_, [now](const auto& entry) {
    return now - entry.second > kLongest || !MayBeForking(entry.first);
  });
  return under_way_.size();
}

}  // namespace cordon::internal
