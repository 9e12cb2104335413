#include "listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace cordon::internal::egress {
namespace {

// So that a flood on one listener leaves the others their turn.
constexpr int kMaxPerTurn = 64;
constexpr std::chrono::milliseconds kRetryWithoutDescriptors{100};

bool IsOutOfResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

}  // namespace

Listener::Listener(EventLoop& loop, UniqueFd fd, MayAccept may_accept, Accepted accepted)
    : loop_(loop),
      fd_(std::move(fd)),
      may_accept_(std::move(may_accept)),
      accepted_(std::move(accepted)) {}

Listener::~Listener() {
  loop_.Cancel(retry_);
  loop_.Unwatch(fd_.get(), this);
}

bool Listener::Start() { return loop_.Watch(fd_.get(), EPOLLIN, this); }

void Listener::Resume() {
  if (!std::exchange(paused_, false)) return;
  loop_.Cancel(retry_);
  loop_.Rewatch(fd_.get(), EPOLLIN, this);
}

// A listener that stays readable and cannot be emptied would keep the loop busy for nothing.
void Listener::Pause() {
  paused_ = true;
  loop_.Rewatch(fd_.get(), 0, this);
}

void Listener::OnIo(std::uint32_t /*events*/) {
  for (int i = 0; i < kMaxPerTurn && !paused_; ++i) {
    if (!may_accept_()) return Pause();
    UniqueFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.valid()) {
      accepted_(std::move(client));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (!IsOutOfResources(errno)) return;
    Pause();
    retry_ = loop_.After(kRetryWithoutDescriptors, [this] {
      retry_ = EventLoop::kNoTimer;
      Resume();
    });
  }
}

}  // namespace cordon::internal::egress
