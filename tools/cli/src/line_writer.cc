#include "line_writer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace cordon::cli {
namespace {

// For what is waiting when the session is over.
constexpr std::chrono::seconds kLastPatience{5};

UniqueFd NewEvent() { return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

}  // namespace

LineWriter::LineWriter(int fd, std::size_t max_waiting_bytes)
    : fd_(fd),
      max_waiting_bytes_(max_waiting_bytes),
      overflow_(NewEvent()),
      ending_(NewEvent()),
      thread_([this] { Run(); }) {}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  (void)::eventfd_write(ending_.get(), 1);
  thread_.join();
}

void LineWriter::Write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (dropping_) return;
  if (waiting_.size() + line.size() > max_waiting_bytes_) {
    dropping_ = true;
    (void)::eventfd_write(overflow_.get(), 1);
    return;
  }
  waiting_ += line;
  waiting_ += '\n';
  changed_.notify_all();
}

void LineWriter::Run() {
  std::string lines;
  do {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return done_ || !waiting_.empty(); });
      lines.clear();
      lines.swap(waiting_);
    }
  } while (!lines.empty() && WriteAll(lines));
  const std::lock_guard lock(mutex_);
  dropping_ = true;
}

// False when nobody will read the rest.
bool LineWriter::WriteAll(std::string_view text) {
  while (!text.empty()) {
    if (!WaitForRoom()) return false;
    const ssize_t written = WriteSome(text);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool LineWriter::WaitForRoom() {
  while (true) {
    pollfd entries[] = {{fd_, POLLOUT, 0}, {give_up_at_ ? -1 : ending_.get(), POLLIN, 0}};
    if (::poll(entries, 2, MillisecondsLeft()) < 0 && errno != EINTR) return false;
    if (entries[0].revents != 0) return true;
    if (entries[1].revents != 0) give_up_at_ = Clock::now() + kLastPatience;
    if (give_up_at_ && Clock::now() >= *give_up_at_) return false;
  }
}

int LineWriter::MillisecondsLeft() const {
  if (!give_up_at_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*give_up_at_ - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// After POLLOUT a pipe takes this much without waiting (pipe(7)); a socket is told not to wait.
// O_NONBLOCK would be everybody's who has the stream.
ssize_t LineWriter::WriteSome(std::string_view text) const {
  const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return ::write(fd_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

}  // namespace cordon::cli
