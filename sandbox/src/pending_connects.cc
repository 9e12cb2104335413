#include "pending_connects.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "observer.h"

namespace cordon::internal {

struct PendingConnects::Connect {
  Request request;
  std::uint64_t id = 0;
  UniqueFd listener;
  pthread_t thread = {};
  std::atomic<bool> done = false;

  [[nodiscard]] bool IsAwaited() const {
    std::uint64_t asked = id;
    return ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &asked) == 0;
  }

  // Can be cancelled (pthread_cancel(3)) in connect(2) and nowhere else. What it works with is not
  // its own, so that nothing is left behind then.
  static void* Run(void* given) {
    auto& self = *static_cast<Connect*>(given);
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    const int error =
        connect(self.request.socket.get(), reinterpret_cast<const sockaddr*>(&self.request.address),
                self.request.size) == 0
            ? 0
            : errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    // Before the command goes on: its peer is to see when the last one is closed.
    self.request = {};
    GiveAnswer({.goes_on = false, .error_number = error}, self.listener.get(), self.id);
    self.done = true;
    return nullptr;
  }

  void End() {
    (void)pthread_cancel(thread);
    (void)pthread_join(thread, nullptr);
  }
};

PendingConnects::PendingConnects() = default;

PendingConnects::~PendingConnects() {
  for (const std::unique_ptr<Connect>& connect : connects_) connect->End();
}

int PendingConnects::Begin(Request request, std::uint64_t id, int listener) {
  Sweep();
  if (connects_.size() >= kMost) return EAGAIN;
  auto connect = std::make_unique<Connect>();
  connect->request = std::move(request);
  connect->id = id;
  connect->listener.Reset(fcntl(listener, F_DUPFD_CLOEXEC, 0));
  if (!connect->listener.valid()) return EAGAIN;
  if (pthread_create(&connect->thread, nullptr, &Connect::Run, connect.get()) != 0) return EAGAIN;
  connects_.push_back(std::move(connect));
  return 0;
}

void PendingConnects::Sweep() {
  std::erase_if(connects_, [](const std::unique_ptr<Connect>& connect) {
    if (!connect->done && connect->IsAwaited()) return false;
    connect->End();
    return true;
  });
}

}  // namespace cordon::internal
