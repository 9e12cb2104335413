#include "launcher/supervisor.h"

#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/ptrace.h>
#include <linux/resource.h>
#include <linux/signal.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#include "launcher/descendants.h"
#include "launcher/fd.h"
#include "launcher/message.h"
#include "launcher/process_state.h"
#include "launcher/text.h"
#include "launcher/tree_watch.h"

namespace cordon::launcher {
namespace {

using internal::SpawnControl;
using internal::SpawnEvent;

// Where the supervisor keeps what it holds, so that everything else can be closed.
constexpr int kChannel = 0;
constexpr int kSignals = 1;
constexpr int kLauncher = 2;
constexpr int kCpuTime = 3;
constexpr int kAbove = 16;

constexpr std::uint64_t kNever = TreeWatch::kNever;
// How long what does not die (in uninterruptible sleep) is waited for before the host is told.
constexpr std::uint64_t kReapMicroseconds = 5'000'000;
// Between two attempts to end what is left; the end of a child cuts them short.
constexpr __kernel_timespec kShortPause = {0, 50'000'000};
constexpr __kernel_timespec kLongPause = {0, 500'000'000};

class Supervisor {
 public:
  explicit Supervisor(const Supervised& supervised)
      : supervised_(supervised), watch_(supervised.limits, supervised.held.cpu_time) {}

  [[noreturn]] void Run() {
    Report(SpawnEvent::Kind::kStarted);
    for (;;) {
      if (NowMicroseconds() >= kill_at_) KillTree();
      Wait(kill_at_ < watch_.next() ? kill_at_ : watch_.next());
      if (watch_.Look() != TreeLimit::kNone) SignalTree(SIGKILL);
      if (launcher_gone_) Abandon();
      ReadControls();
      ReapUntilCommandEnds();
    }
  }

 private:
  // Until something happened or `deadline` has come.
  void Wait(std::uint64_t deadline) {
    pollfd entries[] = {{kChannel, POLLIN, 0}, {kSignals, POLLIN, 0}, {kLauncher, POLLIN, 0}};
    __kernel_timespec timeout = {};
    if (deadline != kNever) {
      const std::uint64_t now = NowMicroseconds();
      const std::uint64_t left = deadline > now ? deadline - now : 0;
      timeout.tv_sec = static_cast<long long>(left / 1'000'000);
      timeout.tv_nsec = static_cast<long long>(left % 1'000'000) * 1000;
    }
    Call(__NR_ppoll, entries, 3, deadline == kNever ? nullptr : &timeout, nullptr, 0);
    channel_ready_ = entries[0].revents != 0;
    launcher_gone_ = entries[2].revents != 0;
  }

  void ReadControls() {
    if (!channel_ready_) return;
    SpawnControl control;
    Received received = Receive(kChannel, &control, sizeof(control));
    if (received.size <= 0) Abandon();
    if (received.size != sizeof(control)) return;
    if (received.descriptor_count > 0) end_event_ = static_cast<Fd&&>(received.descriptors[0]);
    if (control.signal > 0 && control.signal <= 64) SignalTree(control.signal);
    if (control.kill_after_milliseconds != 0 && kill_at_ == kNever) {
      kill_at_ = NowMicroseconds() + std::uint64_t{control.kill_after_milliseconds} * 1000;
    }
  }

  void ReapUntilCommandEnds() {
    DrainSignals();
    for (;;) {
      int status = 0;
      const long ended = Call(__NR_wait4, -1, &status, WNOHANG | __WALL, nullptr);
      if (ended <= 0) return;
      if (IsStop(status)) {
        LetGo(ended, status);
      } else if (ended == supervised_.command) {
        Finish(status);
      }
    }
  }

  static bool IsStop(int status) { return (status & 0xff) == 0x7f; }

  // A child asked to be traced by its parent (PTRACE_TRACEME), which is no debugger: it goes on as
  // if it had not.
  static void LetGo(long child, int status) {
    const int signal = (status >> 8) & 0xff;
    Call(__NR_ptrace, PTRACE_DETACH, child, nullptr, signal == SIGTRAP ? 0 : signal);
  }

  // The number of signals says nothing: they are merged while pending.
  void DrainSignals() {
    char record[128];  // struct signalfd_siginfo
    while (Call(__NR_read, kSignals, record, sizeof(record)) > 0) {
    }
  }

  void SignalTree(int signal) {
    if (supervised_.is_init) {
      Call(__NR_kill, -1, signal);  // All of the namespace but pid 1 (kill(2)).
    } else {
      SignalDescendants(signal);
    }
  }

  void KillTree() {
    kill_at_ = kNever;
    SignalTree(SIGKILL);
  }

  // Until nothing is left; false when `patience` is over before.
  bool EndTree(std::uint64_t patience, const __kernel_timespec& pause) {
    const std::uint64_t begin = NowMicroseconds();
    while (ReapAll()) {
      if (NowMicroseconds() - begin >= patience) return false;
      SignalTree(SIGKILL);
      pollfd entry = {kSignals, POLLIN, 0};
      Call(__NR_ppoll, &entry, 1, &pause, nullptr, 0);
    }
    return true;
  }

  // Whether there are children that have not ended, whatever they were cloned with (__WALL).
  bool ReapAll() {
    DrainSignals();
    long ended;
    do {
      int status = 0;
      ended = Call(__NR_wait4, -1, &status, WNOHANG | __WALL, nullptr);
      if (ended == supervised_.command) wait_status_ = status;
    } while (ended > 0);
    return ended == 0;
  }

  [[noreturn]] void Finish(int status) {
    wait_status_ = status;
    wall_microseconds_ = NowMicroseconds() - supervised_.started_microseconds;
    left_running_ = ReapAll();
    const bool is_all = !left_running_ || EndTree(kReapMicroseconds, kShortPause);
    nothing_left_ = is_all && supervised_.keeps_orphans;
    Report(SpawnEvent::Kind::kEnded);
    if (nothing_left_ && end_event_.ok()) TellOfEnd();
    // A namespace's pid 1 is gone only after all others; elsewhere this process sees to that.
    if (!is_all && !supervised_.is_init) EndTree(kNever, kLongPause);
    Exit(0);
  }

  // Nobody listens. When pid 1 of a namespace exits, the kernel kills the rest.
  [[noreturn]] void Abandon() {
    if (supervised_.is_init) Exit(1);
    wait_status_ = SIGKILL;
    wall_microseconds_ = NowMicroseconds() - supervised_.started_microseconds;
    if (!EndTree(kReapMicroseconds, kShortPause)) EndTree(kNever, kLongPause);
    Report(SpawnEvent::Kind::kEnded);
    Exit(0);
  }

  void Report(SpawnEvent::Kind kind) const {
    SpawnEvent event;
    event.kind = kind;
    event.wait_status = wait_status_;
    event.wall_microseconds = wall_microseconds_;
    event.ended_by = watch_.exceeded();
    event.left_running = left_running_ ? 1 : 0;
    event.nothing_left = nothing_left_ ? 1 : 0;
    if (kind == SpawnEvent::Kind::kEnded) AddUsage(&event);
    Send(kChannel, &event, sizeof(event));
  }

  void TellOfEnd() const {
    const std::uint64_t one = 1;
    Call(__NR_write, end_event_.get(), &one, sizeof(one));
  }

  static void AddUsage(SpawnEvent* event) {
    rusage usage = {};
    if (ErrorOf(Call(__NR_getrusage, RUSAGE_CHILDREN, &usage)) != 0) return;
    event->cpu_microseconds =
        static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
        static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    event->max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  }

  const Supervised supervised_;
  TreeWatch watch_;
  Fd end_event_;
  std::uint64_t kill_at_ = kNever;
  bool channel_ready_ = false;
  bool launcher_gone_ = false;
  int wait_status_ = 0;
  bool left_running_ = false;
  bool nothing_left_ = false;
  std::uint64_t wall_microseconds_ = 0;
};

}  // namespace

int HoldForSupervision(SupervisorDescriptors* descriptors) {
  const std::uint64_t child_ended = std::uint64_t{1} << (SIGCHLD - 1);
  const long signals =
      Call(__NR_signalfd4, -1, &child_ended, sizeof(child_ended), O_CLOEXEC | O_NONBLOCK);
  const bool has_cpu_time = descriptors->cpu_time >= 0;
  // The lowest numbers may be taken by what is moved to them, so by way of high ones.
  const int from[] = {descriptors->channel, static_cast<int>(signals), descriptors->launcher,
                      descriptors->cpu_time};
  const int count = has_cpu_time ? kCpuTime + 1 : kCpuTime;
  long copies[kCpuTime + 1];
  for (int i = 0; i < count; ++i) {
    copies[i] = Call(__NR_fcntl, from[i], F_DUPFD, kAbove);
    if (const int error = ErrorOf(copies[i])) return error;
  }
  for (int i = 0; i < count; ++i) {
    if (const int error = MakeDescriptor(static_cast<int>(copies[i]), i)) return error;
  }
  CloseFrom(count);
  *descriptors = {kChannel, kLauncher, has_cpu_time ? kCpuTime : -1};
  return 0;
}

void Supervise(const Supervised& supervised) { Supervisor(supervised).Run(); }

void ReportFailure(int channel, const Outcome& outcome) {
  SpawnEvent event;
  event.kind = SpawnEvent::Kind::kFailed;
  event.step = outcome.step;
  event.error_number = outcome.error;
  for (std::size_t i = 0; i + 1 < sizeof(event.detail) && outcome.detail[i] != '\0'; ++i) {
    event.detail[i] = outcome.detail[i];
  }
  Send(channel, &event, sizeof(event));
}

}  // namespace cordon::launcher
