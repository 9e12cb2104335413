#include "integration/support/listener.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "support/catch.h"

namespace cordon::test {
namespace {

UniqueFd MakeSocket(Listener::Kind kind) {
  switch (kind) {
    case Listener::Kind::kTcp:
      return UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    case Listener::Kind::kUdp:
      return UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    case Listener::Kind::kUnixPath:
    case Listener::Kind::kUnixAbstract:
      return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  return UniqueFd();
}

int BindToLoopback(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

void BindToName(int fd, const std::string& name, bool abstract) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t offset = abstract ? 1 : 0;
  REQUIRE(name.size() + offset < sizeof address.sun_path);
  std::memcpy(address.sun_path + offset, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + offset + name.size());
  REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
}

}  // namespace

Listener::Listener(Kind kind, const std::string& name)
    : kind_(kind), socket_(MakeSocket(kind)), stop_(eventfd(0, EFD_CLOEXEC)) {
  REQUIRE(socket_.valid());
  if (kind == Kind::kTcp || kind == Kind::kUdp) {
    port_ = BindToLoopback(socket_.get());
  } else {
    BindToName(socket_.get(), name, kind == Kind::kUnixAbstract);
  }
  if (kind != Kind::kUdp) REQUIRE(listen(socket_.get(), 16) == 0);
  thread_ = std::thread([this] { Serve(); });
}

Listener::~Listener() {
  const std::uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) < 0) std::abort();
  thread_.join();
}

void Listener::Serve() {
  while (true) {
    pollfd entries[] = {{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(entries, 2, -1) < 0) continue;
    if (entries[1].revents != 0) return;
    ++contacts_;
    Answer();
  }
}

void Listener::Answer() const {
  char buffer[4096];
  if (kind_ == Kind::kUdp) {
    (void)recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return;
  }
  const UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const std::string reply = std::string("HTTP/1.0 200 OK\r\n\r\n") + kGreeting + "\n";
  (void)send(connection.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
  shutdown(connection.get(), SHUT_WR);
  pollfd entry{connection.get(), POLLIN, 0};  // A close with unread data would be a reset.
  if (poll(&entry, 1, 1000) > 0) (void)recv(connection.get(), buffer, sizeof buffer, MSG_DONTWAIT);
}

}  // namespace cordon::test
