#include "observer.h"

#include <linux/filter.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "all_signals_blocked.h"
#include "cordon/sdk/status.h"

namespace cordon::internal {
namespace {

// Linux 6.6; newer than the headers here. The two threads take turns on one processor.
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
constexpr __u64 kSyncWakeUp = 1;  // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP

// A newer kernel writes a longer record.
union Notification {
  seccomp_notif call;
  char room[512] = {};
};

bool Add(int epoll, int fd, std::uint64_t key) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = key;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

// A filter that allows everything, for the calling thread. Returns 0 or an errno.
int TakeListener() {
  sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog program = {1, &allow};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  const UniqueFd listener(static_cast<int>(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
  return listener.valid() ? 0 : errno;
}

}  // namespace

void GiveAnswer(const CallAnswer& answer, int listener, std::uint64_t id) {
  seccomp_notif_resp response = {};
  response.id = id;
  response.error = -answer.error_number;
  if (answer.error_number == 0) response.val = answer.value;
  if (answer.goes_on) {
    response.error = 0;
    response.val = 0;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

int ObservationError() {
  static const int kept = [] {
    int error = 0;
    const AllSignalsBlocked blocked;
    try {
      std::thread([&error] { error = TakeListener(); }).join();
    } catch (const std::system_error& refused) {
      return refused.code().value();
    }
    return error;
  }();
  return kept;
}

ObserverWatch::~ObserverWatch() { observer_->Forget(key_); }

Observer::~Observer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  (void)eventfd_write(poke_.get(), 1);
  thread_.join();
}

absl::StatusOr<std::unique_ptr<ObserverWatch>> Observer::Watch(
    UniqueFd listener, std::shared_ptr<CallHandler> handler) {
  (void)ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SET_FLAGS, kSyncWakeUp);
  const std::lock_guard lock(mutex_);
  if (absl::Status started = StartLocked(); !started.ok()) return started;
  const std::uint64_t key = ++last_key_;
  const int number = listener.get();
  watched_.emplace(key, Watched{std::move(listener), std::move(handler)});
  if (Add(epoll_.get(), number, key)) {
    return std::make_unique<ObserverWatch>(shared_from_this(), key);
  }
  const int error = errno;
  watched_.erase(key);
  return MakeErrnoError(error, "cannot watch a command's calls");
}

void Observer::Forget(std::uint64_t key) {
  Watched forgotten;  // Closed and dropped without the lock.
  std::unique_lock lock(mutex_);
  served_.wait(lock, [&] { return serving_ != key; });
  const auto watched = watched_.find(key);
  if (watched == watched_.end()) return;
  // To close it is not enough while a fork of this program has a copy.
  if (const UniqueFd& listener = watched->second.listener; listener.valid()) {
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener.get(), nullptr);
  }
  forgotten = std::move(watched->second);
  watched_.erase(watched);
}

bool Observer::Later(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) return false;
  later_.push_back(std::move(work));
  DoSoonLocked();
  if (waits_for_ever_) (void)eventfd_write(poke_.get(), 1);
  return true;
}

void Observer::DoSoonLocked() {
  if (!due_.has_value()) due_ = std::chrono::steady_clock::now() + kMoment;
}

absl::Status Observer::StartLocked() {
  if (thread_.joinable()) return absl::OkStatus();
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  poke_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !poke_.valid() || !Add(epoll_.get(), poke_.get(), kPokeKey)) {
    return MakeErrnoError(errno, "cannot wait for the calls of commands");
  }
  const AllSignalsBlocked blocked;
  try {
    thread_ = std::thread(&Observer::Run, this);
  } catch (const std::system_error& error) {
    return MakeErrnoError(error.code().value(), "cannot start the thread that observes commands");
  }
  return absl::OkStatus();
}

void Observer::Run() {
  std::array<epoll_event, 16> events{};
  for (;;) {
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), MillisecondsToWait());
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != kPokeKey) {
        Serve(events[i].data.u64, events[i].events);
      } else if (IsStopped()) {
        return;
      }
    }
    DoWhatIsDue();
  }
}

bool Observer::IsStopped() {
  const std::lock_guard lock(mutex_);
  eventfd_t pokes = 0;
  (void)eventfd_read(poke_.get(), &pokes);
  waits_for_ever_ = false;
  return stopped_;
}

int Observer::MillisecondsToWait() {
  const std::lock_guard lock(mutex_);
  waits_for_ever_ = !due_.has_value();
  if (waits_for_ever_) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*due_ - std::chrono::steady_clock::now());
  return std::max(0, static_cast<int>(left.count()));
}

void Observer::DoWhatIsDue() {
  std::vector<UniqueFd> hung_up;  // Closed and dropped without the lock.
  std::vector<std::function<void()>> later;
  {
    const std::lock_guard lock(mutex_);
    if (!due_.has_value() || std::chrono::steady_clock::now() < *due_) return;
    hung_up.swap(hung_up_);
    later.swap(later_);
    due_.reset();
  }
  for (const std::function<void()>& work : later) work();
}

void Observer::Serve(std::uint64_t key, unsigned events) {
  std::shared_ptr<CallHandler> handler;
  int listener = -1;
  {
    const std::lock_guard lock(mutex_);
    const auto watched = watched_.find(key);
    if (watched == watched_.end()) return;  // Forgotten since it was ready.
    listener = watched->second.listener.get();
    if (listener < 0) return;
    if ((events & EPOLLIN) == 0) {  // Hung up: nobody is left who could ask.
      (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener, nullptr);
      hung_up_.push_back(std::move(watched->second.listener));
      DoSoonLocked();
      return;
    }
    handler = watched->second.handler;
    serving_ = key;
  }
  Notification notification;
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification) == 0) {
    const CallAnswer answer = handler->OnCall(notification.call, listener);
    if (!answer.is_given_later) GiveAnswer(answer, listener, notification.call.id);
  }
  handler.reset();
  {
    const std::lock_guard lock(mutex_);
    serving_ = kPokeKey;
  }
  served_.notify_all();
}

}  // namespace cordon::internal
