#include "led_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

#include "cordon/sdk/unique_fd.h"
#include "sandbox_testing.h"
#include "support/catch.h"

namespace cordon::internal::testing {
namespace {

using std::chrono::steady_clock;

// At the host's 127.0.0.1, with a queue of `backlog`.
class HostListener {
 public:
  explicit HostListener(int backlog = 16) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(fd_.get(), backlog) == 0);
    socklen_t size = sizeof address;
    REQUIRE(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] bool HasVisitor() const {
    if (!WaitReadable(fd_.get())) return false;
    return UniqueFd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
  }

 private:
  UniqueFd fd_;
  std::uint16_t port_ = 0;
};

UniqueFd Socket(int family, int type = SOCK_STREAM) {
  UniqueFd made(socket(family, type | SOCK_CLOEXEC, 0));
  REQUIRE(made.valid());
  return made;
}

TEST_CASE("a TCP socket of either family is connected, and keeps its way of blocking") {
  const HostListener listener;
  LedConnections connections(listener.port());
  for (const int family : {AF_INET, AF_INET6}) {
    const UniqueFd blocking(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!blocking.valid()) continue;  // Without IPv6.
    CHECK(connections.Connect(blocking.get()) == 0);
    CHECK(listener.HasVisitor());
    CHECK((fcntl(blocking.get(), F_GETFL) & O_NONBLOCK) == 0);
    CHECK(connections.Connect(blocking.get()) == EISCONN);

    const UniqueFd other = Socket(family, SOCK_STREAM | SOCK_NONBLOCK);
    const int begun = connections.Connect(other.get());
    CHECK((begun == 0 || begun == EINPROGRESS));
    CHECK(listener.HasVisitor());
    CHECK((fcntl(other.get(), F_GETFL) & O_NONBLOCK) != 0);
  }
}

TEST_CASE("nothing but a TCP socket is connected, and none where there is no proxy") {
  const HostListener listener;
  LedConnections connections(listener.port());
  CHECK(connections.Connect(Socket(AF_INET, SOCK_DGRAM).get()) == EACCES);
  CHECK(connections.Connect(Socket(AF_UNIX).get()) == EACCES);
  const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(connections.Connect(file.get()) == EACCES);
  CHECK(connections.Connect(-1) == EACCES);
  LedConnections nowhere(0);
  CHECK(nowhere.Connect(Socket(AF_INET).get()) == EACCES);
}

TEST_CASE("a proxy that takes nobody in delays others for a bounded time") {
  const HostListener listener(0);
  LedConnections connections(listener.port());
  std::vector<UniqueFd> sockets;
  const auto begin = steady_clock::now();
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    sockets.push_back(Socket(AF_INET));
    if (connections.Connect(sockets.back().get()) == ECONNREFUSED) ++refused;
  }
  CHECK(refused > LedConnections::kMostWaits);
  // All waits, and as much again for a busy machine.
  CHECK(steady_clock::now() - begin < 2 * LedConnections::kMostWaits * LedConnections::kPatience);
}

TEST_CASE("a command that changes how its socket blocks meanwhile delays nobody either") {
  const HostListener listener(0);
  LedConnections connections(listener.port());
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 4; ++i) {  // Until nobody fits in.
    sockets.push_back(Socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK));
    (void)connections.Connect(sockets.back().get());
  }
  const UniqueFd flipped = Socket(AF_INET);
  const std::jthread flipper([&flipped](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      (void)fcntl(flipped.get(), F_SETFL, O_NONBLOCK);
      (void)fcntl(flipped.get(), F_SETFL, 0);
    }
  });
  const auto begin = steady_clock::now();
  for (int i = 0; i < 2000; ++i) {
    (void)connections.Connect(flipped.get());
    sockaddr none = {};
    (void)connect(flipped.get(), &none, sizeof none);
  }
  CHECK(steady_clock::now() - begin < std::chrono::seconds(10));  // A blocked one takes minutes.
}

}  // namespace
}  // namespace cordon::internal::testing
