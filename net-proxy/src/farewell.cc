#include "farewell.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "socket_calls.h"

namespace cordon::internal::egress {
namespace {

constexpr std::chrono::milliseconds kTimeout{1000};
constexpr std::size_t kMaxReadBytes = std::size_t{4} * 1024 * 1024;

}  // namespace

Farewell::Farewell(EventLoop& loop, UniqueFd fd, std::function<void(Farewell*)> over)
    : loop_(loop), fd_(std::move(fd)), over_(std::move(over)) {}

Farewell::~Farewell() {
  loop_.Cancel(deadline_);
  if (fd_.valid()) loop_.Unwatch(fd_.get(), this);
}

void Farewell::Start(std::string_view words) {
  if (!words.empty()) (void)Send(fd_.get(), words.data(), words.size());
  shutdown(fd_.get(), SHUT_WR);
  deadline_ = loop_.After(kTimeout, [this] {
    deadline_ = EventLoop::kNoTimer;
    End();
  });
  if (!loop_.Watch(fd_.get(), EPOLLIN, this)) End();
}

void Farewell::OnIo(std::uint32_t /*events*/) {
  char bytes[16384];
  while (read_ < kMaxReadBytes) {
    const ssize_t count = Receive(fd_.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return End();
    read_ += static_cast<std::size_t>(count);
  }
  End();
}

void Farewell::End() {
  loop_.Forget(this);
  fd_.Reset();
  over_(this);
}

}  // namespace cordon::internal::egress
