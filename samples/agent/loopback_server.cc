#include "loopback_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cordon/sdk/status.h"

namespace cordon::agent {
namespace {

constexpr int kRequestPatienceMs = 2000;

void Answer(int connection) {
  struct pollfd request {
    connection, POLLIN, 0
  };
  std::array<char, 4096> ignored{};
  if (::poll(&request, 1, kRequestPatienceMs) == 1) {
    (void)!::recv(connection, ignored.data(), ignored.size(), 0);
  }
  const std::string reply =
      absl::StrFormat("HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s\n",
                      LoopbackServer::kAnswer.size() + 1, LoopbackServer::kAnswer);
  (void)!::send(connection, reply.data(), reply.size(), MSG_NOSIGNAL);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LoopbackServer>> LoopbackServer::Start() {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  UniqueFd stop_event(::eventfd(0, EFD_CLOEXEC));
  struct sockaddr_in address {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<struct sockaddr*>(&address);
  if (!listener.valid() || !stop_event.valid() || ::bind(listener.get(), generic, size) != 0 ||
      ::listen(listener.get(), 8) != 0 || ::getsockname(listener.get(), generic, &size) != 0) {
    return MakeErrnoError(errno, "cannot listen on 127.0.0.1");
  }
  return std::unique_ptr<LoopbackServer>(
      new LoopbackServer(std::move(listener), std::move(stop_event), ntohs(address.sin_port)));
}

LoopbackServer::LoopbackServer(UniqueFd listener, UniqueFd stop_event, std::uint16_t port)
    : listener_(std::move(listener)),
      stop_event_(std::move(stop_event)),
      port_(port),
      thread_([this] { Serve(); }) {}

LoopbackServer::~LoopbackServer() {
  const std::uint64_t one = 1;
  (void)!::write(stop_event_.get(), &one, sizeof(one));
  thread_.join();
}

void LoopbackServer::Serve() {
  while (true) {
    std::array<struct pollfd, 2> events = {
        {{listener_.get(), POLLIN, 0}, {stop_event_.get(), POLLIN, 0}}};
    if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR) return;
    if (events[1].revents != 0) return;
    if (events[0].revents == 0) continue;
    const UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) continue;
    ++visits_;
    Answer(connection.get());
  }
}

}  // namespace cordon::agent
